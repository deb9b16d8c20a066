"""The proof that a load through Spark is one commit: what it loads, the processes it kills, and the verdict."""
