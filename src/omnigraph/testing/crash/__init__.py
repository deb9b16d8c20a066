"""Processes killed at every failpoint, the matrices that count the outcomes, and what must hold afterwards."""
