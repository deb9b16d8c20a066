"""What cleanup and repair need to know of storage: retention, missing files, drift, orphaned refs, stray files, loads.

Uses the protocol, and is not used by it.
"""
