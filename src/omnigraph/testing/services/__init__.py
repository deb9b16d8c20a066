"""Real services for tests, on free local ports: object stores, their emulators and proxies, a Spark cluster."""
