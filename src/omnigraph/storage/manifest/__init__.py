"""The manifest of a graph: its rows and their codec, states, snapshots, history, schema files, creating and opening.

Reads what was published; writing to it is the protocol's work.
"""
