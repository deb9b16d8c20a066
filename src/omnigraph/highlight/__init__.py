"""Colours for texts in both languages: lexers for Pygments and grammars for editors."""
