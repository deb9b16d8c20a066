"""Text and vector search: analysis, inverted lists, BM25, distances, ranking and their fusion."""
