"""Compaction, indexes, repair and cleanup of a whole graph.

Preserves content; the physical work on one dataset is done in storage.
"""
