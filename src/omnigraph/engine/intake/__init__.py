"""Bytes and frames to typed rows: NDJSON, CSV, columnar files, data frames, mappings, ids and `@embed` targets.

Shared by in-process loads and by the pipeline's tasks; decides nothing about what is already committed.
"""
