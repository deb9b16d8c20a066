"""Schema changes: from one accepted schema to the next as a write set."""
