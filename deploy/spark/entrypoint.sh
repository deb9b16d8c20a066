#!/bin/sh
# One process of a standalone Spark cluster, with the Spark and the Java that the environment brings.
#   entrypoint.sh master | worker spark://host:7077 | connect spark://host:7077 | run COMMAND [ARGUMENTS]
# `run` is the command line of omnigraph; OMNIGRAPH_SPARK_MASTER says where its tasks run.
set -eu
role=${1:?"usage: entrypoint.sh master | worker MASTER | connect MASTER | run COMMAND"}
shift
JAVA_HOME=${JAVA_HOME:-$(python -c 'from omnigraph.pipeline.spark.java import java_home; print(java_home())')}
SPARK_HOME=$(python -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export JAVA_HOME SPARK_HOME
host=${SPARK_HOST:-$(hostname -i | cut -d' ' -f1)}
launch="$SPARK_HOME/bin/spark-class"
case "$role" in
  master)
    exec "$launch" org.apache.spark.deploy.master.Master --host "$host" --port "${SPARK_MASTER_PORT:-7077}" --webui-port 8080
    ;;
  worker)
    exec "$launch" org.apache.spark.deploy.worker.Worker --host "$host" --webui-port 8081 \
      --work-dir "${SPARK_WORK_DIR:-/tmp/spark-work}" "$@"
    ;;
  connect)
    exec "$launch" org.apache.spark.deploy.SparkSubmit --master "$1" \
      --class org.apache.spark.sql.connect.service.SparkConnectServer \
      --conf spark.connect.grpc.binding.port="${SPARK_CONNECT_PORT:-15002}" --conf spark.driver.host="$host" \
      --conf spark.sql.session.timeZone=UTC spark-internal
    ;;
  run)
    exec omnigraph "$@"
    ;;
  *)
    echo "unknown role '$role': master, worker, connect or run" >&2
    exit 64
    ;;
esac
