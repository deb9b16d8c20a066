"""Social network at scale: files of any size become one commit through Spark; then suggestions, search and ranks."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from generate import generate

import omnigraph as og

HERE = Path(__file__).parent
QUERIES = HERE / "queries.gq"


def main(home: Path, people: int) -> og.Graph:
    """Build a network of so many people in `home`, ask it things, and return it."""
    raw = home / "raw"
    print("rows written:", generate(raw, people=people))
    shutil.copy(HERE / "mapping.yaml", raw)
    network = og.init(home / "network.omni", HERE / "schema.pg", actor="loader")
    loaded = network.load(mapping=raw / "mapping.yaml", mode="append", runner="spark")
    print(f"{loaded.total_entities:,} entities in one commit, {loaded.commit_id}, loaded by {loaded.runner}\n")

    print("Whom should u17 follow?")
    print(network.query(QUERIES, name="suggestions", params={"handle": "u17"}))
    print("\nWhat do the people around u17 say about bread?")
    print(network.query(QUERIES, name="timeline", params={"handle": "u17", "words": "bread"}))
    print("\nWhat does Kyoto like?")
    print(network.query(QUERIES, name="popular_in", params={"city": "Kyoto"}))
    return network


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("home", nargs="?", type=Path, help="a new folder [a temporary one]")
    options.add_argument("--people", type=int, default=50_000)
    chosen = options.parse_args()
    main(chosen.home or Path(tempfile.mkdtemp(prefix="social-network-")), chosen.people)
