"""Where the rows of a table version lie: row ids, offsets in data files, deletions, and one column read by offsets.

It reads what Lance has written and writes nothing.
"""
