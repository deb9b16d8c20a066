"""The OpenAPI document: written by hand as data, committed as JSON, served from the committed file.

Describes routes and does not serve them.
"""
