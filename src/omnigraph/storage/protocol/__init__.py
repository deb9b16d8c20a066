"""The commit protocol: how a write set becomes visible atomically, and how interrupted operations are resolved.

Every change of a graph passes through `commit`; only `commit`, `attempt` and `recovery` may use `publish`.
"""
