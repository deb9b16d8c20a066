"""Small graphs that several tests share, and short ways to fill and read them."""
