"""Refused rows as JSON lines in a directory the caller named: one file per split, one for the checks of sets."""

from __future__ import annotations

import json
from collections.abc import Sequence

from omnigraph.engine.intake.files import open_output
from omnigraph.engine.intake.violations import Violation


def write_rejects(directory: str, name: str, found: Sequence[Violation]) -> None:
    """Write one file of refusals; writing it again replaces it, so a repeated task reports nothing twice."""
    if found:
        with open_output(f"{directory}/{name}.jsonl") as file:
            file.write("".join(json.dumps(reject(each), ensure_ascii=False) + "\n" for each in found).encode())


def reject(violation: Violation) -> dict[str, object]:
    """One refusal as data."""
    return {
        "code": violation.code,
        "message": violation.message,
        "file": violation.file,
        "line": violation.line,
        "type": violation.type_name,
        "property": violation.property_name,
        "id": violation.entity_id,
    }
