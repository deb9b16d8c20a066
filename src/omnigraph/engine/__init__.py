"""Binds compiler and storage: the verbs of a graph and everything behind them.

Each sub-package uses only those before it: values, views, intake, read, write, schema, merge, changes, maintenance,
api. Nothing here imports pipeline, server, client or the command line.
"""
