"""The operators that every executor runs, how checked queries become them, and the passes over them.

Operators hold no data and read no storage: executors give them a meaning.
"""
