"""Bulk work as tasks: loads, exports, index builds and comparisons, on Spark or in this process."""
