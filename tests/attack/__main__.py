"""`python -m tests.attack [WORD …]`: run the attacks (those whose row contains a word), print the table, fail if one succeeds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.attack import clients, files, known, table
from tests.attack.target import COUNT, target


def main(words: list[str]) -> int:
    """The number of attacks that were answered as they must not be."""
    chosen = [
        each
        for each in (*table.ATTACKS, *clients.ATTACKS, *files.ATTACKS, *known.ATTACKS)
        if not words or any(word in f"{each.kind} {each.what}" for word in words)
    ]
    succeeded = 0
    with tempfile.TemporaryDirectory(prefix="omnigraph-attack-") as folder, target(Path(folder)) as attacked:
        for attack in chosen:
            found = attack.attempt(attacked)
            well = attacked.query(COUNT).status_code == 200
            refused = found in attack.must and well
            succeeded += not refused
            mark = "ok  " if refused else "FAIL"
            sick = "" if well else "  and a small read is not answered afterwards"
            wanted = " or ".join(attack.must)
            print(f"{mark} {attack.kind:<11} {attack.what:<42} must {wanted:<22} was {found}{sick}", flush=True)
        failures = [line for line in attacked.server.logged() if line["message"] == "unexpected failure"]
        for line in failures:
            print("FAIL the server logged:", line.get("exception", "")[-600:], flush=True)
    print(f"{len(chosen)} attacks, {succeeded} answered wrongly, {len(failures)} unexpected failures")
    return 1 if succeeded or failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
