"""Who may do what: bearer tokens, policy bundles, and the decisions made from them."""
