"""Declared pipelines: what they say, running them, and the record of their runs."""
