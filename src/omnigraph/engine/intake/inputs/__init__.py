"""Inputs as bytes, lines and Arrow tables: where files are, formats, stores of several tables.

What the rows mean is not known here.
"""
