"""The producer: a file of changes about once a second, until its time is over; then what the graph should look like.

    python generate.py INBOX EXPECTED SECONDS

Customers come, move, are scored and leave. Rows of a file are shuffled, so that only `at` says which came last.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

CITIES = ["Bergen", "Lund", "Porto", "Gent", "Graz"]


def produce(inbox: Path, expected: Path, seconds: float) -> None:
    """Write files under a name that the stream does not see before they are complete."""
    chance = random.Random(7)
    customers: dict[str, dict[str, Any]] = {}
    end, number, at = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        rows = []
        for _ in range(40):
            at += 1
            rows.append(_change(chance, customers, at))
        chance.shuffle(rows)
        hidden = inbox / f".{number:05}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hidden.rename(inbox / f"{number:05}.json")
        number += 1
        time.sleep(1)
    expected.write_text(json.dumps({"files": number, "changes": at, "customers": customers}))


def _change(chance: random.Random, customers: dict[str, dict[str, Any]], at: int) -> dict[str, Any]:
    name = f"c{chance.randrange(300)}"
    if name in customers and chance.random() < 0.2:
        del customers[name]
        return {"op": "delete", "name": name, "at": at}
    op = "update" if name in customers else "insert"
    customers[name] = {"city": chance.choice(CITIES)}
    return {"op": op, "name": name, **customers[name], "at": at}


if __name__ == "__main__":
    produce(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
