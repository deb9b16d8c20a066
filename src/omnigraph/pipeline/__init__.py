"""The data pipeline on Spark: any amount of data, every constraint checked, one atomic commit.

Importing this package registers its runners with the engine; Spark itself is started by the first job.
"""

from __future__ import annotations

from omnigraph.engine.api import runners
from omnigraph.pipeline.spark.session import spark_session, stop_session
from omnigraph.pipeline.tasks.load import load_here, load_on_spark

__all__ = ["load_here", "load_on_spark", "spark_session", "stop_session"]

runners.register("spark", load_on_spark)
runners.register("tasks", load_here)
