"""Mutation runs: one-line changes of safety-critical code, each of which a named test has to catch (`make mutants`)."""
