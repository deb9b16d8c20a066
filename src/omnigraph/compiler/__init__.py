"""Text to plans: the schema language, the query language, catalogs and operators.

Pure: no I/O, no Arrow, no Lance. Imports only `errors` and `ids`.
"""
