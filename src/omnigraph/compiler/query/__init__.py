"""The query language: text, syntax trees, type checking, parameters, lint.

Ends in a checked tree; turning it into operators is the work of `compiler.ir`.
"""
