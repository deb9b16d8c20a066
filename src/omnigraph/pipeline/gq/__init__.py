"""`.gq` on Spark: the engine's plans lowered to frames. Spark joins, groups and sorts; values are the engine's own."""
