"""Graphs and results for other libraries: frames, DuckDB, network libraries, PyTorch Geometric, retrievers, notebooks.

Each module is a thin layer over the public verbs of a graph, embedded or served, and imports its library when it is
used; the extras of the package name what to install. Nothing here reads storage, and nothing else imports from here.
"""
