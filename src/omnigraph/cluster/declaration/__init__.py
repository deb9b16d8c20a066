"""The declared side of a cluster: `cluster.yaml` and everything it refers to, read and checked."""
