"""`COPY` of the bench's Parquet files into another embedded graph database, in a process of its own.

    python -m bench.copy_peer ladybug|kuzu|duckdb DIRECTORY

Two of these libraries in one process crash it, so each run imports one. Prints seconds, those of the processor
and peak memory as JSON.
"""

from __future__ import annotations

import json
import resource
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
    begin, before = time.perf_counter(), _processor()
    connection.execute(f'COPY Person FROM "{directory / "people.parquet"}"')
    connection.execute(f'COPY Knows FROM "{directory / "knows.parquet"}"')
    taken, spent = time.perf_counter() - begin, _processor() - before
    peak = round(peak_mib())
    count = connection.execute("MATCH ()-[r:Knows]->() RETURN count(r)").get_next()[0]
    print(json.dumps({"seconds": taken, "processor": spent, "peak_mib": peak, "edges": count}))
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
    begin, before = time.perf_counter(), _processor()
    connection.execute(f"INSERT INTO person SELECT * FROM '{directory / 'people.parquet'}'")
    connection.execute(f"INSERT INTO knows SELECT * FROM '{directory / 'knows.parquet'}'")
    taken, spent = time.perf_counter() - begin, _processor() - before
    count = connection.execute("SELECT count(*) FROM knows").fetchone()
    told = {"seconds": taken, "processor": spent, "peak_mib": round(peak_mib())}
    print(json.dumps({**told, "edges": None if count is None else count[0]}))
    connection.close()
    place.unlink()


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
