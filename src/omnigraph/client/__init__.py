"""A graph behind a server, with the verbs of an embedded one."""
