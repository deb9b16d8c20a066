"""Who may do what: bearer tokens, policy bundles, and the decisions made from them.

Decides; enforcing is the work of the engine and the server. Knows neither HTTP nor storage.
"""
