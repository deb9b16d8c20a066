"""The read executor: from a compiled query and a view to rows.

Each sub-package uses only those before it: columns, topology, frames, shape, search, match, plan. `query` and `execute`
put them together.
"""
