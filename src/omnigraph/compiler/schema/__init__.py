"""The schema language: text, declarations, layout and warnings."""
