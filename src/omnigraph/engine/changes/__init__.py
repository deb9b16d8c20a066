"""What changed: diff, change feed, history, blame and export.

Reads only.
"""
