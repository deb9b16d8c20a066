"""The command line: one table of commands, a parser that reads it, and one module per group of verbs."""
