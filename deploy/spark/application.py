"""What `spark-submit` runs: the command line of omnigraph, in the session that Spark was asked for.

spark-submit --master spark://host:7077 … deploy/spark/application.py load s3://bucket/graph.omni --mapping map.yaml …
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from omnigraph.cli.main import main

if __name__ == "__main__":
    session = SparkSession.builder.appName(f"omnigraph {' '.join(sys.argv[1:2])}").getOrCreate()
    try:
        code = main(sys.argv[1:])
    finally:
        session.stop()
    sys.exit(code)
