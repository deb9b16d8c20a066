"""How `infer` works: reading inputs, rules of their cells, keys and references, and the words of its report."""
