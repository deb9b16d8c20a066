"""Traces five flows and prints how many modules each touches and how often it crosses from one package to another.

`python tools/trace_flows.py [--list]`: a read, a mutation, a load, a merge, and a stored query over HTTP, each run once
to warm up and once under a profile hook. A module counts when one of its functions runs; a crossing is a distinct pair
of packages of which one calls the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import omnigraph as og

ROOT = Path(og.__file__).parent
SCHEMA = """
node Person { name: String @key age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Company
"""
RECORDS = "\n".join(
    [f'{{"type":"Person","data":{{"name":"p{n}","age":{n}}}}}' for n in range(20)]
    + ['{"type":"Company","data":{"name":"acme"}}']
    + [f'{{"edge":"Knows","from":"p{n}","to":"p{n + 1}"}}' for n in range(19)]
    + [f'{{"edge":"WorksAt","from":"p{n}","to":"acme"}}' for n in range(20)]
).encode()
QUERY = (
    "query q($n: String) { match { $p: Person { name: $n } $p knows $f $f worksAt $c } return { $f.name, $c.name } }"
)


class Trace:
    """What ran: modules in the order of their first call, and the package pairs between which calls went."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.crossings: dict[tuple[str, str], None] = {}
        self._names: dict[str, str | None] = {}

        self._recording = False

    def install(self) -> None:
        """Hook every thread that starts from now on, so that pools made while warming up are seen as well."""
        threading.setprofile(self._event)

    def run(self, work: Callable[[], Any]) -> None:
        self._recording = True
        sys.setprofile(self._event)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._recording = False

    def _event(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not self._recording:
            return
        name = self._module(frame)
        if name is None:
            return
        self.modules.setdefault(name)
        caller = frame.f_back
        while caller is not None and self._module(caller) is None:
            caller = caller.f_back
        if caller is not None:
            source, target = (str(n).rpartition(".")[0] for n in (self._module(caller), name))
            if source != target:
                self.crossings.setdefault((source, target))

    def _module(self, frame: FrameType) -> str | None:
        file = frame.f_code.co_filename
        if file not in self._names:
            path = Path(file)
            inside = path.is_relative_to(ROOT) and "testing" not in path.parts
            self._names[file] = ".".join(path.relative_to(ROOT).with_suffix("").parts) if inside else None
        return self._names[file]


def flows(directory: Path) -> dict[str, Callable[[], Any]]:
    """The five flows, each a function that can be run again and again."""
    g = og.init(str(directory / "flows.omni"), schema=SCHEMA)
    g.load(RECORDS, mode="append")
    counter = iter(range(1000, 9999))

    def merge() -> None:
        name = f"b{next(counter)}"
        g.branches.create(name)
        g.branch(name).mutate(f'query m() {{ insert Person {{ name: "{name}" }} }}')
        g.mutate(f'query m() {{ insert Person {{ name: "main-{name}" }} }}')
        trace = merge.trace  # type: ignore[attr-defined]
        work = lambda: g.branches.merge(name, into="main")  # noqa: E731
        trace.run(work) if trace is not None else work()

    merge.trace = None  # type: ignore[attr-defined]
    return {
        "read": lambda: g.query(QUERY, params={"n": "p1"}).rows(),
        "mutation": lambda: g.mutate(f'query m() {{ insert Person {{ name: "n{next(counter)}" }} }}'),
        "load": lambda: g.load(f'{{"type":"Person","data":{{"name":"l{next(counter)}"}}}}'.encode(), mode="append"),
        "merge": merge,
        "stored query over HTTP": _served(directory),
    }


def _served(directory: Path) -> Callable[[], Any]:
    """A request for a stored query, answered by a server in this process."""
    import asyncio

    import httpx

    from omnigraph.server.app import Server
    from omnigraph.server.process.development import development_deployment
    from omnigraph.server.settings import Settings

    uri = str(directory / "served.omni")
    og.init(uri, schema=SCHEMA).load(RECORDS, mode="append")
    queries = directory / "queries.gq"
    queries.write_text(QUERY)
    server = Server(development_deployment(uri, queries=[str(queries)], token="t" * 32), Settings())
    transport = httpx.ASGITransport(app=server)

    async def ask() -> None:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.post(
                "/graphs/default/queries/q",
                json={"params": {"n": "p1"}},
                headers={"authorization": "Bearer " + "t" * 32},
            )
            answer.raise_for_status()

    return lambda: asyncio.run(ask())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--list", action="store_true", help="print the modules of each flow in the order of their first call"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name, work in flows(Path(directory)).items():
            trace = Trace()
            trace.install()
            work()
            if name == "merge":
                work.trace = trace  # type: ignore[attr-defined]
                work()
            else:
                trace.run(work)
            outer = {(a.split(".")[0], b.split(".")[0]) for a, b in trace.crossings}
            both = sum((b, a) in trace.crossings for a, b in trace.crossings) // 2
            print(
                f"{name}: {len(trace.modules)} modules, {len(trace.crossings)} crossings between packages "
                f"({sum(a != b for a, b in outer)} between layers), {both} pairs that call each other both ways"
            )
            if options.list:
                print("  " + " ".join(trace.modules))


if __name__ == "__main__":
    main()
