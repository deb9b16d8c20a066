"""A graph as tools for agents: its stored queries by name and tools of every graph, over the Model Context Protocol.

Rights are decided by the server or the graph behind it, never here.
"""
