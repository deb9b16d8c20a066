#!/bin/sh
# Starts the server of a container: OMNIGRAPH_CLUSTER says what to serve, OMNIGRAPH_BIND where; arguments replace both.
set -eu
if [ "$#" -gt 0 ]; then
  exec omnigraph-server "$@"
fi
if [ -z "${OMNIGRAPH_CLUSTER:-}" ]; then
  echo "set OMNIGRAPH_CLUSTER to a cluster's directory or storage root, or give omnigraph-server's arguments" >&2
  exit 64
fi
exec omnigraph-server --cluster "$OMNIGRAPH_CLUSTER" --bind "${OMNIGRAPH_BIND:-0.0.0.0:8080}"
