"""Writes the company's records: people, teams, documents and decisions as JSON lines, always the same."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TEAMS = {"platform": "Platform", "data": "Data", "people": "People and Culture"}
NAMES = ("Ada Novak", "Bruno Kim", "Chen Weber", "Dana Okoye", "Emre Sato", "Farah Rossi", "Goran Park", "Hana Costa")
SUBJECTS = {
    "platform": (
        ("Move sessions out of memory", "Logins vanished whenever a server was restarted."),
        ("Keep two regions warm", "A single site cannot survive a flooded basement."),
        ("Pin every dependency", "A library changed under us and the build broke on a Friday."),
    ),
    "data": (
        ("One column format for everything", "Analysts waited for hours on row files."),
        ("Check data before it lands", "Half of the reports counted refunds twice."),
        ("Forget customers on request", "The law gives people the right to be erased."),
    ),
    "people": (
        ("Four interviews at most", "Applicants dropped out after the fifth conversation."),
        ("Two weeks of shadowing", "New colleagues felt lost in their first sprint."),
        ("No meetings on Wednesday", "Makers need one long quiet day."),
    ),
}
VOICES = ("Notes from the review", "A measurement", "What customers said", "Costs and risks", "A counter-argument")


def records(seed: int = 11) -> Iterator[dict[str, Any]]:
    """Every node and edge of the example."""
    rng = random.Random(seed)
    for slug, name in TEAMS.items():
        yield {"type": "Team", "data": {"slug": slug, "name": name}}
    handles = [name.split()[0].lower() for name in NAMES]
    for number, (handle, name) in enumerate(zip(handles, NAMES, strict=True)):
        yield {"type": "Person", "data": {"handle": handle, "name": name}}
        yield {"edge": "MemberOf", "from": handle, "to": list(TEAMS)[number % len(TEAMS)]}
    for team, subjects in SUBJECTS.items():
        for number, (title, reason) in enumerate(subjects):
            slug = f"{team}-{number}"
            yield {"edge": "Took", "from": team, "to": slug}
            yield from _decision(slug, title, reason, handles, rng)


def _decision(slug: str, title: str, reason: str, handles: list[str], rng: random.Random) -> Iterator[dict[str, Any]]:
    day = f"2025-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    decision = {"slug": slug, "title": title, "rationale": reason, "status": "accepted", "decided": day}
    yield {"type": "Decision", "data": decision}
    for voice in rng.sample(VOICES, 3):
        document = f"{slug}-{voice.split()[-1].lower()}"
        body = f"{reason} {title} was discussed at length."
        yield {
            "type": "Document",
            "data": {"slug": document, "title": f"{voice}: {title}", "body": body, "written": day},
        }
        yield {"edge": "Wrote", "from": rng.choice(handles), "to": document}
        yield {"edge": "Supports", "from": document, "to": slug}


def write(path: Path) -> Path:
    """Write the records to a file and return its path."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records()), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write(Path(sys.argv[1] if len(sys.argv) > 1 else "brain.jsonl")))
