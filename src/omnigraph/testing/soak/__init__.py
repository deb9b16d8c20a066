"""Soaks of the commit protocol: workers that write, die and stall at random, and the verdict over what they logged."""
