"""One consistent state of a graph: the opened core, views, time travel, names to states, row deltas between two states.

Reads storage; never writes to it.
"""
