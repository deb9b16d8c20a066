"""Everything that knows Lance's structures: datasets, transactions, fragments, refs, row ids, deletions, version files.

Only `tables`, `datasets`, `columns` and `transactions` import lance. Nothing here knows what a graph commit is.
"""
