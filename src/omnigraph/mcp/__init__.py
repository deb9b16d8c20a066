"""A graph as a box of tools for agents: its stored queries by name, over the Model Context Protocol."""
