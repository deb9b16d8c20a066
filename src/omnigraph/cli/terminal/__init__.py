"""What the command line prints: rows, changes, histories, progress and failures."""
