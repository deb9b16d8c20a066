"""The command line: one table of commands, a parser that reads it, and one module per group of verbs.

Calls the SDK or a server; contains no logic of the engine.
"""
