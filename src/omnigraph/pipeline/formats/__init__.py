"""Other systems' formats: inference of schemas, importers and exporters."""
