"""Copies of a whole graph: what belongs to a consistent one, clones, backups and restores.

Reads any graph and writes only to the place of the copy; never changes the graph it copies.
"""
