"""Commands on data: queries, loads, schemas, drawings, imports."""
