"""The guided tour behind `make demo`: raw files, one Spark load, queries, branches, a merge conflict, time travel."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
OMNIGRAPH = Path(sys.executable).with_name("omnigraph")
STORE = ["--store", "graph.omni"]
ASK = ["query", *STORE, "--query", "queries.gq"]
TELL = ["mutate", *STORE, "--query", "queries.gq"]


class Tour:
    """Names each step, shows the command it runs in the demo's folder, and counts the time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.number = 0
        self.started = time.perf_counter()
        # The extra `local` carries its weights, so that search by meaning needs no account and no network.
        self.environment = {"OMNIGRAPH_EMBED_PROVIDER": "local", **os.environ}

    def step(self, title: str, *remarks: str) -> None:
        self.number += 1
        print(f"\n{_bold(f'{self.number}. {title}')}")
        for remark in remarks:
            print(f"   {remark}")

    def omnigraph(self, *arguments: str, expect: int = 0, capture: bool = False) -> str:
        """Run the console script as a user would; a surprising exit code ends the tour."""
        return self._command([str(OMNIGRAPH), *arguments], shown="omnigraph", expect=expect, capture=capture)

    def python(self, *arguments: str) -> None:
        self._command([sys.executable, *arguments], shown="python", expect=0, capture=False)

    def _command(self, command: list[str], *, shown: str, expect: int, capture: bool) -> str:
        print(_dim(f"   $ {shlex.join([shown, *command[1:]])}"), flush=True)
        begin = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE if capture else None,
            check=False,
        )
        if done.returncode != expect:
            raise SystemExit(f"the command above ended with {done.returncode} instead of {expect}")
        print(_dim(f"   ({time.perf_counter() - begin:.1f} s)"))
        return done.stdout or ""


def main() -> None:
    """Run the tour in a fresh folder and leave everything there to play with."""
    options = argparse.ArgumentParser(description="The guided tour of OmniGraph.")
    options.add_argument("home", nargs="?", type=Path, default=Path("demo"), help="an empty or new folder [demo]")
    options.add_argument("--people", type=int, default=100_000, help="how many people the world has [100000]")
    chosen = options.parse_args()
    tour = Tour(_fresh_folder(chosen.home))
    load(tour, chosen.people)
    ask(tour)
    branch_and_merge(tour)
    travel_in_time(tour)
    refusals(tour)
    farewell(tour)


def load(tour: Tour, people: int) -> None:
    """Raw files become one commit, through Spark."""
    tour.step("Raw data", "People and companies as CSV; papers, documents and a million edges as Parquet.")
    tour.python(str(HERE.resolve() / "generate.py"), "raw", str(people))
    tour.step("A typed graph", "The schema says what may exist: keys, ranges, enums, cardinalities, vectors.")
    tour.omnigraph("init", "--schema", "schema.pg", "graph.omni", "--as", "ann", "-m", "a world to look around in")
    tour.step(
        "Load through Spark, in one commit",
        "Every constraint is checked in the workers, missing embeddings are computed there, and the graph flips once.",
    )
    tour.omnigraph(
        "load",
        *STORE,
        *("--mapping", "raw/mapping.yaml", "--mode", "append", "--runner", "spark"),
        *("--as", "loader", "-m", "everything the raw files hold"),
    )


def ask(tour: Tour) -> None:
    """Traversal, aggregate and hybrid search, each one query."""
    tour.step("Traverse", "Friends and friends of friends of p17 who work in Kyoto.")
    tour.omnigraph(*ASK, "friends_of_friends", "-p", "handle=p17")
    tour.step("Aggregate", "Where most people of fifty and above work.")
    tour.omnigraph(*ASK, "busiest_companies", "-p", "min_age=50")
    tour.step(
        "Search by words and by meaning, behind a traversal",
        "No document says 'blackout': the vectors find what is meant, BM25 what is said, rrf fuses both.",
    )
    tour.omnigraph(*ASK, "documents_about", "-p", "text=restarting the server after a blackout", "-p", "city=Oslo")


def branch_and_merge(tour: Tour) -> None:
    """Two people change the same person; the merge says so and is told what to do."""
    tour.step("Branch", "Carla works on a branch that the others do not see.")
    tour.omnigraph("branch", "create", *STORE, "review")
    hired = ["hire", "-p", "handle=zoe", "-p", "name=Zoe Quist", "-p", "company=c1"]
    tour.omnigraph(*TELL, *hired, "--branch", "review", "--as", "carla", "-m", "Zoe joins c1")
    role = ["set_role", "-p", "handle=p17"]
    tour.omnigraph(*TELL, *role, "-p", "role=founder", "--branch", "review", "--as", "carla", "-m", "p17 founded it")
    tour.omnigraph("diff", *STORE, "main", "review")
    tour.step("Conflict", "Meanwhile Dan gives p17 another role on main. The merge refuses and writes nothing.")
    tour.omnigraph(*TELL, *role, "-p", "role=manager", "--as", "dan", "-m", "p17 manages now")
    tour.omnigraph("branch", "merge", *STORE, "review", "--into", "main", "--as", "dan", expect=1)
    tour.step("Resolve and merge", "Dan takes Carla's version of p17; everything else merges by itself.")
    tour.omnigraph(
        "branch", "merge", *STORE, "review", "--into", "main", "--resolve", "Person/p17=theirs", "--as", "dan"
    )
    tour.omnigraph("log", *STORE, "--oneline")
    tour.omnigraph("commit", "show", *STORE, "HEAD")
    tour.omnigraph("log", *STORE, "--oneline", "--filter", "actor=carla", "type=Person")
    tour.omnigraph("blame", *STORE, "Person", "p17")


def travel_in_time(tour: Tour) -> None:
    """The state after the load is still there."""
    tour.step("Time travel", "The commit of the load still answers: Zoe had not been hired, p17 had the first role.")
    commits = json.loads(tour.omnigraph("commit", "list", *STORE, "--json", capture=True))["commits"]
    loaded = next(commit["graph_commit_id"] for commit in commits if commit["actor_id"] == "loader")
    tour.omnigraph("get", *STORE, "Person", "p17", "--snapshot", loaded)
    tour.omnigraph("get", *STORE, "Person", "p17")
    tour.omnigraph("diff", *STORE, loaded, "main", "--stat")


def refusals(tour: Tour) -> None:
    """Mistakes get a place and a way out; nothing is written."""
    tour.step("Mistakes", "A typing error in a query, and an edge to a person that does not exist.")
    wrong = "query q() { match { $p: Person $p knos $f } return { $f.name } }"
    tour.omnigraph("query", *STORE, "-e", wrong, expect=1)
    (tour.home / "bad.jsonl").write_text('{"edge":"Knows","from":"p2","to":"nobody"}\n', encoding="utf-8")
    tour.omnigraph("load", *STORE, "--data", "bad.jsonl", "--mode", "append", expect=1)


def farewell(tour: Tour) -> None:
    """Where everything is and what to try next."""
    home = tour.home
    print(f"\n{_bold(f'Done in {time.perf_counter() - tour.started:.0f} s.')} Everything is in {home}; go on with:")
    print(f"   cd {shlex.quote(str(home))} && export PATH={shlex.quote(str(OMNIGRAPH.parent))}:$PATH")
    print("   omnigraph shell --store graph.omni               # type queries, Tab completes from the schema")
    print(
        "   omnigraph studio graph.omni                      # see it in a browser (in a checkout: `make studio` first)"
    )
    print("   omnigraph query --store graph.omni --query queries.gq friends_of_friends -p handle=p4 --explain")
    print("   python -c \"import omnigraph as og; print(og.open('graph.omni').get('Person', 'zoe'))\"")
    print("   docs/quickstart.md loads data of your own; docs/queries.md and docs/schema.md are the two languages.")


def _fresh_folder(home: Path) -> Path:
    """The folder of an earlier tour is replaced; anybody else's is not touched."""
    marker = home / ".omnigraph-demo"
    if home.exists() and any(home.iterdir()) and not marker.exists():
        raise SystemExit(f"{home} is not empty and was not made by this demo: name another folder")
    shutil.rmtree(home, ignore_errors=True)
    (home / "raw").mkdir(parents=True)
    marker.touch()
    for name in ("schema.pg", "queries.gq"):
        shutil.copy(HERE / name, home)
    shutil.copy(HERE / "mapping.yaml", home / "raw")
    return home.resolve()


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def _dim(text: str) -> str:
    return f"\033[2m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    main()
