"""Models, strategies and invariants that tests compare the engine with.

Nothing outside tests imports this package.
"""
