"""Graph engines side by side: one module per engine, each run in a process of its own (two of them crash together)."""
