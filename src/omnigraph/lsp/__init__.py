"""The language server: diagnostics, completion, hover, definitions and formatting for editors."""
