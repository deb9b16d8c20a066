"""What needs a Spark session: the session itself, the data source, frames, streams."""
