#!/usr/bin/env bash
# Packs what tasks import into one archive that spark-submit sends to the workers, so that nothing is installed there.
#   deploy/spark/pack.sh environment.tar.gz [REQUIREMENT]
# REQUIREMENT is `omnigraph` unless given: also a wheel, or `.` for this checkout. PYTHON is the interpreter whose minor
# version the workers have. Spark itself is left out: tasks use the one of the cluster.
set -euo pipefail
archive=${1:?"usage: pack.sh ARCHIVE [REQUIREMENT]"}
requirement=${2:-omnigraph}
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
if command -v uv >/dev/null; then
  uv pip install --quiet --python "$python" --target "$place" "$requirement" pandas
else
  "$python" -m pip install --quiet --disable-pip-version-check --target "$place" "$requirement" pandas
fi
case "$archive" in
  *.tar) form=-cf ;;
  *.tar.gz | *.tgz) form=-czf ;;
  *) echo "the archive has to be called .tar, .tar.gz or .tgz, not '$archive'" >&2; exit 64 ;;
esac
# Spark refuses an archive with an entry `./`, so its members are named one by one.
(cd "$place" && tar $form - --exclude='*/tests' --exclude='__pycache__' -- *) >"$archive"
echo "$archive: $(du -h "$archive" | cut -f1)"
