"""Rows in flight during one execution: frames, coded row ids of several types, budgets, what `explain` reports."""
