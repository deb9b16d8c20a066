"""Tables and generators behind the reference pages in docs/."""
