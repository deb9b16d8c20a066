"""Agent memory: a branch per agent, a review of what each learned, a conflict between two of them, and recall."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from generate import LEARNED, lessons, records

import omnigraph as og

HERE = Path(__file__).parent
QUERIES = HERE / "queries.gq"


def main(home: Path) -> og.Graph:
    """Build the memory in `home`, let two agents work on it, and return it."""
    os.environ.setdefault("OMNIGRAPH_EMBED_PROVIDER", "local")
    memory = og.init(home / "memory.omni", HERE / "schema.pg", actor="archive")
    memory.load(list(records()))

    for agent in LEARNED:
        learn(memory, agent)
    for agent in LEARNED:
        review(memory, agent)

    print("\nrecall('how do I get home from the office at night'):")
    print(memory.query(QUERIES, name="recall", params={"text": "how do I get home from the office at night"}))
    print("\nWhat is known about the Bergen office:")
    print(memory.query(QUERIES, name="about", params={"subject": "the Bergen office"}))
    print("\nWho set what in the memory about opening hours:")
    print(memory.commits.blame("Memory", "hours"))
    return memory


def learn(memory: og.Graph, agent: str) -> None:
    """An agent works on its own branch: others do not see its memories until they are reviewed."""
    memory.branches.create(f"agents/{agent}")
    own = og.open(memory.uri, branch=f"agents/{agent}", actor=agent)
    for lesson in lessons(agent):
        own.mutate(QUERIES, name="remember", params=lesson)
    # Both agents doubt the old opening hours, and not to the same degree: that is the conflict below.
    doubt = {"scout": 0.4, "scribe": 0.1}[agent]
    own.mutate(QUERIES, name="reconsider", params={"slug": "hours", "confidence": doubt})
    if agent == "scribe":
        own.mutate(QUERIES, name="contradict", params={"newer": "early", "older": "hours"})


def review(memory: og.Graph, agent: str) -> None:
    """See what the merge would do, then merge; where two agents disagree, believe the more doubtful one."""
    branch = f"agents/{agent}"
    reviewer = og.open(memory.uri, actor="reviewer")
    preview = reviewer.branches.merge(branch, into="main", preview=True)
    print(f"\n{preview}")
    disputed = {conflict.entity: "theirs" for conflict in preview.conflicts if conflict.entity}
    print(reviewer.branches.merge(branch, into="main", resolve=disputed))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="agent-memory-")))
