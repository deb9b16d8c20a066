"""One module per group of routes; every endpoint takes an exchange and gives a response.

Checks rights through the exchange before it calls the engine.
"""
