"""Neighbour lists of edge tables: built, advanced from version to version, kept on disk, searched."""
