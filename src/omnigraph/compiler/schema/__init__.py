"""The schema language: text, declarations, layout and warnings.

Declarations only; what they mean is decided in `compiler.catalog`.
"""
