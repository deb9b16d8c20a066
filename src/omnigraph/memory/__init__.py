"""How much memory this process may use, the budget of each opened graph, and the one bounded cache that draws on it.

Knows nothing about graphs or Lance, and of Arrow only that it keeps what was freed: what a cache holds, and how large
it is, is said by its user.
"""
