"""Whether a graph is what it was written as: files, checksums, rows, indexes, derived state and every commit.

Only reads. Each module looks at one of these and reports what it finds; none of them repairs anything.
"""
