"""Pictures of a schema or of the surroundings of an entity, as text, SVG, PNG and HTML."""
