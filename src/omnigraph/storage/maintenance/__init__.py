"""What cleanup and repair need to know of storage: retention, drift, orphaned refs, stray files, scratch of loads.

Uses the protocol, and is not used by it.
"""
