"""Hypothesis strategies and generators: schemas, queries, programs of writes, damaged texts and files."""
