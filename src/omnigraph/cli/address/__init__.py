"""Which graph or server a command addresses: operator config, credentials, scopes, targets."""
