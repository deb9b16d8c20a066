"""Requests and responses: parsing, limits, authentication, envelopes, streams.

Knows HTTP; the routes know the engine.
"""
