"""Choosing how a compiled read runs on one view, and remembering it."""
