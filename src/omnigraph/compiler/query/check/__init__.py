"""The type checker, one concern a module; `query.typecheck` is its door."""
