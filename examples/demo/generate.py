"""Writes the demo's raw data: a deterministic community of people, companies and papers as NDJSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIRST = ["Ada", "Bruno", "Chen", "Dana", "Emre", "Farah", "Goran", "Hana", "Ivo", "Jia", "Kofi", "Lena"]
FIRST += ["Milo", "Nadia", "Otto", "Priya", "Quinn", "Rosa", "Sami", "Tove", "Uma", "Vera", "Wim", "Yara"]
LAST = ["Abe", "Bauer", "Costa", "Dang", "Eriksen", "Fischer", "Gupta", "Hansen", "Ito", "Jansen"]
LAST += ["Kim", "Lopez", "Meyer", "Novak", "Okoye", "Park", "Rossi", "Sato", "Tanaka", "Weber"]
CITIES = ["Oslo", "Kyoto", "Turin", "Accra", "Lima", "Graz", "Quito", "Pune"]
TOPICS = ["graph", "storage", "vector", "search", "columnar", "format", "transaction", "log", "query"]
TOPICS += ["planner", "stream", "processing", "knowledge", "base"]
ROLES = ("engineer", "researcher", "manager", "founder")


def generate(path: Path, *, people: int = 2_000, seed: int = 7) -> int:
    """Write the records and return how many there are."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for record in records(people, random.Random(seed)):
            out.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
    return count


def records(people: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Nodes first, then edges; the same for the same arguments."""
    companies, papers = max(3, people // 40), max(3, people // 4)
    yield from _nodes(people, companies, papers, rng)
    yield from _edges(people, companies, papers, rng)


def _nodes(people: int, companies: int, papers: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    for i in range(people):
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        data = {
            "handle": f"p{i}",
            "name": name,
            "age": rng.randint(20, 70) if rng.random() < 0.9 else None,
            "role": rng.choice(ROLES),
            "mail": f"p{i}@example.org" if rng.random() < 0.8 else None,
            "joined": f"{rng.randint(2005, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        }
        yield {"type": "Person", "data": data}
    for i in range(companies):
        city = rng.choice(CITIES)
        yield {"type": "Company", "data": {"slug": f"c{i}", "name": f"{city} {rng.choice(LAST)} Works", "city": city}}
    for i in range(papers):
        words = rng.sample(TOPICS, 4)
        text = f"We study {words[0]} {words[1]} for {words[2]} {words[3]}, and report what we measured."
        title = f"On {words[0]} {words[1]}"
        yield {
            "type": "Paper",
            "data": {"doi": f"10.1/{i}", "title": title, "abstract": text, "year": rng.randint(1995, 2026)},
        }


def _edges(people: int, companies: int, papers: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < people * 5:
        pairs.add((rng.randrange(people), rng.randrange(people)))
    for a, b in sorted(pairs):
        yield {"edge": "Knows", "from": f"p{a}", "to": f"p{b}", "data": {"since": f"{rng.randint(2000, 2025)}-06-01"}}
    for i in range(people):
        if rng.random() < 0.85:
            yield {"edge": "WorksAt", "from": f"p{i}", "to": f"c{rng.randrange(companies)}", "data": {}}
    for i in range(papers):
        for position, author in enumerate(rng.sample(range(people), 2)):
            yield {"edge": "Wrote", "from": f"p{author}", "to": f"10.1/{i}", "data": {"first": position == 0}}
        if i:
            yield {"edge": "Cites", "from": f"10.1/{i}", "to": f"10.1/{rng.randrange(i)}"}
