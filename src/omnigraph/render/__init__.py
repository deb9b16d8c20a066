"""Pictures of a schema or of the surroundings of an entity, as text, SVG, PNG and HTML.

Draws what it is given; lays out boxes and arrows, runs no query of its own.
"""
