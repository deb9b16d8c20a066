"""The query language: text, syntax trees, type checking, parameters, lint.

Ends in a checked tree; turning it into operators is the work of `compiler.ir`.
"""

# What a body without a head is called where a name is needed.
UNNAMED = "unnamed"
