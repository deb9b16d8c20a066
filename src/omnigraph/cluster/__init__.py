"""Declared deployments: a directory of sources, the commands that make storage match it, and what servers boot from.

Knows graphs through the engine; serves nothing itself.
"""
