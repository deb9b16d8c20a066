"""OmniGraph: a typed property graph with Git-style branches and atomic commits."""
