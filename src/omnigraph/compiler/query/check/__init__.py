"""The type checker, one concern a module; `query.typecheck` puts them together.

Reads the catalog and the syntax tree, and changes neither.
"""
