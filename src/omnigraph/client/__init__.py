"""A graph behind a server, with the verbs of an embedded one.

Speaks HTTP to a server and never opens storage.
"""
