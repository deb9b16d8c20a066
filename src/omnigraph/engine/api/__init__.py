"""The facade that users see: `Graph` and its nouns, each verb a few lines.

Contains no logic of its own: arguments are checked here, the work is done below.
"""
