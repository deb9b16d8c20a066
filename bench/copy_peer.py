"""`COPY` of the bench's Parquet files into another embedded graph database, in a process of its own.

    python -m bench.copy_peer ladybug|duckdb DIRECTORY

Two of these libraries in one process crash it, so each run imports one. Prints seconds and peak memory as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from importlib import import_module
from pathlib import Path

from bench.measure import peak_mib


def main(peer: str, directory: Path) -> None:
    """Two tables, two COPY statements, timed together."""
    if peer == "duckdb":
        _duckdb(directory)
        return
    library = import_module(peer)
    place = directory / f"{peer}.db"
    database = library.Database(str(place))
    connection = library.Connection(database, num_threads=2)
    connection.execute(
        "CREATE NODE TABLE Person(handle STRING PRIMARY KEY, name STRING, age INT32, score DOUBLE, role STRING)"
    )
    connection.execute("CREATE REL TABLE Knows(FROM Person TO Person, weight DOUBLE)")
    begin = time.perf_counter()
    connection.execute(f'COPY Person FROM "{directory / "people.parquet"}"')
    connection.execute(f'COPY Knows FROM "{directory / "knows.parquet"}"')
    taken = time.perf_counter() - begin
    peak = round(peak_mib())
    count = connection.execute("MATCH ()-[r:Knows]->() RETURN count(r)").get_next()[0]
    print(json.dumps({"seconds": taken, "peak_mib": peak, "edges": count}))
    for left in directory.glob(f"{peer}.db*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def _duckdb(directory: Path) -> None:
    """Two tables, the nodes with a primary key; ends of edges are not checked."""
    import duckdb

    place = directory / "peer.duckdb"
    connection = duckdb.connect(str(place), config={"threads": 2})
    connection.execute(
        "CREATE TABLE person(handle VARCHAR PRIMARY KEY, name VARCHAR, age INT, score DOUBLE, role VARCHAR)"
    )
    connection.execute("CREATE TABLE knows(a VARCHAR, b VARCHAR, weight DOUBLE)")
    begin = time.perf_counter()
    connection.execute(f"INSERT INTO person SELECT * FROM '{directory / 'people.parquet'}'")
    connection.execute(f"INSERT INTO knows SELECT * FROM '{directory / 'knows.parquet'}'")
    taken = time.perf_counter() - begin
    count = connection.execute("SELECT count(*) FROM knows").fetchone()
    print(json.dumps({"seconds": taken, "peak_mib": round(peak_mib()), "edges": None if count is None else count[0]}))
    connection.close()
    place.unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
