"""From six files to ten answers: infer a schema and a mapping, load, ask; nothing is edited by hand."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import generate

import omnigraph as og

HERE = Path(__file__).parent
QUESTIONS = [
    ("How many flights does each airline have?", "airlines", {}),
    ("Which airports have the most arrivals?", "busiest", {}),
    ("How many flights were cancelled?", "cancelled", {}),
    ("Which destinations are in no list of airports?", "unlisted", {}),
    ("Which planes are the oldest?", "oldest", {}),
    ("Who made the planes that are flown?", "makers", {}),
    ("How long is the way from Harbour City to Sandstone?", "between", {"from": "HRB", "to": "SND"}),
    ("Where does the wind blow?", "windy", {}),
    ("Who teaches most pilots?", "mentors", {}),
    ("Where are the experienced pilots?", "experienced", {}),
]


def omnigraph(*arguments: str | Path) -> None:
    """One command of the command line, shown before it runs."""
    print("$ omnigraph", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "omnigraph.cli", *map(str, arguments)], check=True)


def main(home: Path, flights: int) -> None:
    """Everything, in a new folder."""
    raw, described, graph = home / "raw", home / "described", home / "airline.omni"
    print("rows written:", generate(raw, flights=flights), flush=True)
    omnigraph("infer", *sorted(raw.iterdir()), "--out", described)
    omnigraph("init", "--schema", described / "schema.pg", graph)
    omnigraph("load", graph, "--mapping", described / "mapping.yaml", "--mode", "append", "--runner", "inline")
    with og.open(graph, read_only=True) as airline:
        for question, name, params in QUESTIONS:
            print(f"\n{question}")
            print(airline.query(HERE / "questions.gq", name=name, params=params))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("home", nargs="?", type=Path, help="a new folder [a temporary one]")
    options.add_argument("--flights", type=int, default=3000)
    chosen = options.parse_args()
    main(chosen.home or Path(tempfile.mkdtemp(prefix="airline-")), chosen.flights)
