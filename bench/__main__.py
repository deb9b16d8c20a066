"""Run every benchmark, or those named on the command line; a table on stderr, JSON lines on stdout.

`--size large` makes those that compare engines use their large graph.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench.measure import Measurement
from bench.social import SIZE_VARIABLE, SIZES

_NO_BENCH = {
    "__main__", "hammer", "measure", "peers", "processes", "query_page", "report", "search_data", "search_engines",
    "search_one", "search_page", "social", "spark_data", "spark_one", "spark_page",
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Benchmarks are the modules of this package that have a `run`."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("wanted", nargs="*", metavar="NAME", help="benchmarks to run; without any, all of them")
    parser.add_argument("--size", choices=sorted(SIZES), help="the graph that engines are compared on")
    given = parser.parse_args(arguments)
    if given.size is not None:
        os.environ[SIZE_VARIABLE] = given.size
    return _run(given.wanted)


def _run(wanted: list[str]) -> int:
    found = sorted(module.name for module in iter_modules(bench.__path__) if module.name not in _NO_BENCH)
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)} (there are: {', '.join(found)})", file=sys.stderr)
        return 2
    for name in wanted or found:
        run = getattr(import_module(f"bench.{name}"), "run", None)
        if run is not None:
            for measurement in run():
                _show(measurement)
    return 0


def _show(found: Measurement) -> None:
    compared = f"{found.ratio:10.2f} x {found.peer}" if found.ratio is not None else ""
    print(f"{found.bench:<12} {found.case:<40} {found.median_ms:12.4f} ms {compared}  {found.note}", file=sys.stderr)
    print(found.to_json(), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
