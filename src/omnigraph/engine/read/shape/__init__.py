"""From bound rows to a result: numbering, order, grouping, projection."""
