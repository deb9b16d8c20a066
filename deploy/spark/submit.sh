#!/usr/bin/env bash
# Runs a command of omnigraph on a Spark cluster, with the environment that pack.sh has packed.
#   deploy/spark/submit.sh spark://host:7077 environment.tar.gz load s3://bucket/graph.omni --mapping map.yaml --mode append
# Variables of storage and of embedding providers become variables of the executors. SPARK_SUBMIT is the command to use,
# SPARK_SUBMIT_OPTIONS are further options of it, PYTHON and EXECUTOR_PYTHON the interpreters here and on the workers.
set -euo pipefail
usage="usage: submit.sh MASTER ARCHIVE COMMAND [ARGUMENTS]"
master=${1:?$usage}
archive=${2:?$usage}
shift 2
# Settings go into a file that only its owner reads: arguments are in the list of processes.
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
setting() { printf '%s=%s\n' "$1" "${2//\\/\\\\}" >>"$settings"; }
setting spark.executorEnv.PYTHONPATH omnigraph-environment
setting spark.pyspark.python "${EXECUTOR_PYTHON:-python3}"
setting spark.pyspark.driver.python "${PYTHON:-python3}"
setting spark.sql.session.timeZone UTC
for name in $(compgen -e); do
  case "$name" in
    AWS_* | AZURE_* | GOOGLE_* | OPENAI_* | GEMINI_* | OMNIGRAPH_EMBED_*) setting "spark.executorEnv.$name" "${!name}" ;;
  esac
done
read -r -a more <<<"${SPARK_SUBMIT_OPTIONS:-}"
"${SPARK_SUBMIT:-spark-submit}" --master "$master" --deploy-mode client --load-spark-defaults \
  --properties-file "$settings" --archives "$archive#omnigraph-environment" "${more[@]}" \
  "$(dirname "$0")/application.py" "$@"
