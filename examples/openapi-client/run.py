"""Makes a small graph, serves it on this machine, and runs the session of the generated client against it.

`python examples/openapi-client/run.py` after `npm ci`, `npm run generate` and `npm run build` in that folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import omnigraph as og

HERE = Path(__file__).resolve().parent
SCHEMA = """
node Person { name: String @key  age: I32?  portrait: Blob? }
edge Knows: Person -> Person
"""
QUERIES = """
query friends($name: String) @description("Whom somebody knows") {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name, $f.age }
}
"""
ADA = {"type": "Person", "data": {"name": "Ada", "age": 36, "portrait": "base64:SGVsbG8gV29ybGQ="}}


def main() -> int:
    """Serve, run the session, stop; the session's status is ours."""
    with tempfile.TemporaryDirectory(prefix="openapi-client-") as folder:
        store, queries = Path(folder) / "people.omni", Path(folder) / "queries.gq"
        queries.write_text(QUERIES, encoding="utf-8")
        with og.init(store, SCHEMA) as graph:
            graph.load([ADA])
        serve = ["serve", "--store", str(store), "--queries", str(queries), "--bind", "127.0.0.1:0"]
        server = subprocess.Popen([sys.executable, "-m", "omnigraph.cli", *serve], stdout=subprocess.PIPE, text=True)
        try:
            said = _announced(server)
            url, token = f"http://{said['OMNIGRAPH_LISTEN_ADDR']}", said["OMNIGRAPH_BEARER_TOKEN"]
            return subprocess.run(["node", "built/session.js", url, token], cwd=HERE, check=False).returncode
        finally:
            server.terminate()
            server.wait(30)


def _announced(server: subprocess.Popen[str]) -> dict[str, str]:
    """What the server prints at start-up, up to its address."""
    assert server.stdout is not None
    said: dict[str, str] = {}
    for line in server.stdout:
        name, _, value = line.strip().partition("=")
        said[name] = value
        if {"OMNIGRAPH_LISTEN_ADDR", "OMNIGRAPH_BEARER_TOKEN"} <= said.keys():
            return said
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
