"""Company brain: load, ask why, search by meaning, and replace a decision on a branch that somebody reviews."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from generate import write

import omnigraph as og

HERE = Path(__file__).parent
QUERIES = HERE / "queries.gq"


def main(home: Path) -> og.Graph:
    """Build the brain in `home`, use it, and return it."""
    os.environ.setdefault("OMNIGRAPH_EMBED_PROVIDER", "local")
    brain = og.init(home / "brain.omni", HERE / "schema.pg", actor="import")
    loaded = brain.load(write(home / "brain.jsonl"), mode="append")
    print(f"{loaded.total_entities} records in commit {loaded.commit_id}\n")

    print("Why do we keep two regions?")
    print(brain.query(QUERIES, name="why", params={"decision": "platform-1"}))
    print("\nA question in other words: 'a flood in the building'")
    print(brain.query(QUERIES, name="find", params={"text": "a flood in the building", "limit": 3}))
    print("\nWho knows about applicants?")
    print(brain.query(QUERIES, name="experts", params={"text": "applicants"}))

    replace_on_a_branch(brain)
    return brain


def replace_on_a_branch(brain: og.Graph) -> None:
    """A proposal is a branch: reviewed as a diff, checked by a query, then merged."""
    brain.branches.create("proposal/three-regions")
    proposal = og.open(brain.uri, branch="proposal/three-regions", actor="dana")
    settled = {
        "old": "platform-1",
        "new": "platform-9",
        "title": "Keep three regions warm",
        "rationale": "Two regions failed together when one cable was cut.",
        "team": "platform",
        "on": "2026-02-01",
    }
    proposal.mutate(QUERIES, name="replace_decision", params=settled)
    print("\nThe proposal as a diff:")
    for change in brain.diff("main", "proposal/three-regions").changes:
        print(f"  {change.op} {change.type_name} {change.id}")
    missing = proposal.query(QUERIES, name="unsupported")
    print(f"\nThe check 'unsupported' finds {len(missing)} decision without a document; one is written:")
    paper = {
        "slug": "cable",
        "title": "The cable report",
        "body": "One cut cable stopped both.",
        "written": "2026-01-20",
    }
    proposal.load(
        [
            {"type": "Document", "data": paper},
            {"edge": "Wrote", "from": "dana", "to": "cable"},
            {"edge": "Supports", "from": "cable", "to": "platform-9"},
        ]
    )
    assert len(proposal.query(QUERIES, name="unsupported")) == 0
    print(brain.branches.merge("proposal/three-regions", into="main", delete=True))
    print(brain.query(QUERIES, name="in_force", params={"team": "platform"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="company-brain-")))
