"""Deterministic simulation of the commit protocol: the real code over simulated tables, objects, clocks and processes."""
