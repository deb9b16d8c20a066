"""Commands for operators: maintenance, servers, clusters, policies, profiles."""
