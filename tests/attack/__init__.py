"""Attacks on a real server, as a table: what is sent, and what it must answer. `make attack` runs all of them."""
