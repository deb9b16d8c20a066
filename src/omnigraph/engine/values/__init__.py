"""Property values as Arrow columns: types, comparison, equality, JSON and text forms, predicates.

No storage is read here.
"""
