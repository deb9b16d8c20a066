"""The operators of a match: scans, expansion along edges, negation, optional parts, shortest paths."""
