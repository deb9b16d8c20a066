"""What a server asks AWS for: one secret, with the credentials that the machine or the environment has."""
