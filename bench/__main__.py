"""Run every benchmark, or those named on the command line; a table on stderr, JSON lines on stdout."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench.measure import Measurement

_NO_BENCH = {"__main__", "measure"}


def main(wanted: list[str]) -> int:
    """Benchmarks are the modules of this package that have a `run`."""
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
