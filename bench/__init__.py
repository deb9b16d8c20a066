"""Benchmarks: side-by-side ratios measured in one run; `python -m bench` runs them all."""
