"""Passes over read plans: one file, one function of the same name; `ir.optimize` holds their order."""
