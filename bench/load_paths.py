"""Small and middle loads by both ways of this process, side by side: all at once, and as tasks with one split.

`python -m bench.load_paths` prints medians of seconds and of processor time, and their ratios.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32?  city: String? } edge Knows: Person -> Person"
SIZES = {1: 15, 1_000: 11, 100_000: 3}
WAYS = {"at once": {}, "as tasks": {"max_errors": 1}}


def lines(count: int) -> bytes:
    """Records of new people; every second one knows somebody."""
    people = ({"type": "Person", "data": {"name": f"p{n}", "age": n % 90, "city": f"c{n % 50}"}} for n in range(count))
    known = ({"edge": "Knows", "from": f"p{n}", "to": f"p{n // 2}"} for n in range(0, count, 2))
    return "".join(json.dumps(each) + "\n" for each in (*people, *known)).encode()


def measured(template: Path, place: Path, data: Path, mode: str, options: dict[str, int]) -> tuple[float, float]:
    """Seconds and processor seconds of one load into a copy of a graph."""
    shutil.copytree(template, place)
    with og.open(place) as graph:
        graph.query("query q() { match { $p: Person } return { count(*) as n } }")
        started, used = time.perf_counter(), time.process_time()
        graph.load(str(data), mode=mode, runner="inline", **options)
        found = time.perf_counter() - started, time.process_time() - used
    shutil.rmtree(place)
    return found


def main() -> None:
    """Print a line for each size and mode."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with og.init(home / "template", SCHEMA) as graph:
            graph.load([{"type": "Person", "data": {"name": f"old{n}", "age": n % 90}} for n in range(10_000)])
        for size, rounds in SIZES.items():
            data = home / f"{size}.jsonl"
            data.write_bytes(lines(size))
            for mode in ("append", "merge"):
                taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
                for turn in range(rounds):
                    for way in sorted(WAYS, reverse=bool(turn % 2)):
                        taken[way].append(measured(home / "template", home / "copy", data, mode, WAYS[way]))
                wall, cpu = (
                    {way: statistics.median(each[kind] for each in found) for way, found in taken.items()}
                    for kind in (0, 1)
                )
                shown = "  ".join(f"{way} {wall[way]:.3f} s ({cpu[way]:.3f} s cpu)" for way in WAYS)
                ratios = [found["as tasks"] / found["at once"] for found in (wall, cpu)]
                print(f"{size:>7} rows {mode:<7}  {shown}  ratio {ratios[0]:.2f} ({ratios[1]:.2f} cpu)", flush=True)


if __name__ == "__main__":
    main()
