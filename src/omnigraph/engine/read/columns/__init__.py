"""Stored values by row id: columns, pages, key indexes, and the bounded caches that hold them."""
