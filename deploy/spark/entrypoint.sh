#!/bin/sh
# One process of a standalone Spark cluster, with the Spark and the Java that the environment brings.
#   entrypoint.sh master | worker spark://host:7077 | connect spark://host:7077 [OPTIONS] | run COMMAND [ARGUMENTS]
# `run` is the command line of omnigraph; OMNIGRAPH_SPARK_MASTER says where its tasks run.
set -eu
role=${1:?"usage: entrypoint.sh master | worker MASTER | connect MASTER | run COMMAND"}
shift
JAVA_HOME=${JAVA_HOME:-$(python -c 'from omnigraph.pipeline.spark.java import java_home; print(java_home())')}
SPARK_HOME=$(python -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
host=${SPARK_HOST:-${SPARK_LOCAL_IP:-$(hostname -i | cut -d' ' -f1)}}
# Spark would tell others the name of this container, which only this container knows.
SPARK_LOCAL_HOSTNAME=${SPARK_LOCAL_HOSTNAME:-$host}
export JAVA_HOME SPARK_HOME SPARK_LOCAL_HOSTNAME
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
    master=${1:?"usage: entrypoint.sh connect MASTER"}
    shift
    # Without dynamic allocation the server takes every core when it starts and keeps it, and other applications wait for ever.
    exec "$launch" org.apache.spark.deploy.SparkSubmit --master "$master" \
      --class org.apache.spark.sql.connect.service.SparkConnectServer \
      --conf spark.connect.grpc.binding.port="${SPARK_CONNECT_PORT:-15002}" --conf spark.driver.host="$host" \
      --conf spark.dynamicAllocation.enabled=true --conf spark.dynamicAllocation.shuffleTracking.enabled=true \
      --conf spark.dynamicAllocation.shuffleTracking.timeout=300s --conf spark.dynamicAllocation.executorIdleTimeout=30s \
      --conf spark.sql.session.timeZone=UTC "$@" spark-internal
    ;;
  run)
    exec omnigraph "$@"
    ;;
  *)
    echo "unknown role '$role': master, worker, connect or run" >&2
    exit 64
    ;;
esac
