"""Refused rows as JSON lines: one entry per row in input order, with its place, its content and all its reasons.

Each task writes the entries of its split beside the graph; the driver joins them into one file where the caller said.
Nothing in it depends on how the input was split or who ran the tasks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.engine.intake.violations import Violation
from omnigraph.ids import ulid_number
from omnigraph.pipeline.tasks.decode import source_texts
from omnigraph.pipeline.tasks.left_out import reasons_in, said_of_no_row
from omnigraph.pipeline.tasks.splits import Split
from omnigraph.pipeline.tasks.stage import StageJob, generated_ids, refused_lines

REJECTS_FILE = "rejects.jsonl"
_ENDINGS = (".jsonl", ".ndjson")
_ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_GENERATED = "(generated)"


def reject_split(job: StageJob, split: Split | None, left_out: str, path: str, *, splits: int) -> None:
    """Write the entries of one split, or of findings that are about no row of the input.

    Writing them again replaces them, so a repeated task reports nothing twice.
    """
    if split is None:
        with open_output(path) as file:
            file.write(_lines(_entry(None, None, None, [each], range(0)) for each in said_of_no_row(left_out)))
        return
    found = refused_lines(job, split, reasons_in(left_out))
    texts = source_texts(split, job.catalog, split.first or 1, found.keys())
    new = generated_ids(job, splits)
    entries = (_entry(split.source.shown, line, texts.get(line), found[line], new) for line in sorted(found))
    with open_output(path) as file:
        file.write(_lines(entries))


def join_rejects(place: str, paths: Sequence[str]) -> None:
    """One file of what the tasks have written."""
    with open_output(rejects_file(place)) as target:
        for path in paths:
            with open_input(path) as part:
                shutil.copyfileobj(part, target)


def rejects_file(place: str) -> str:
    """The file for refused rows: the place itself when it is named like one, otherwise a file in that directory."""
    return place if place.endswith(_ENDINGS) and not os.path.isdir(place) else f"{place}/{REJECTS_FILE}"


def _lines(entries: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()


def _entry(
    file: str | None, line: int | None, text: str | None, reasons: Sequence[Violation], new: range
) -> dict[str, object]:
    """One refused row; it counts under the code of its first reason."""
    first = reasons[0]
    known = first.entity_id if first.code != "W014" or line is None else None  # that one is about the source
    return {
        "file": file,
        "line": line,
        "type": first.type_name,
        "id": None if known is None or _is_generated(known, new) else known,
        "code": first.code,
        "reasons": [_reason(each, new) for each in reasons],
        "content": text,
    }


def _reason(violation: Violation, new: range) -> dict[str, object]:
    def shown(found: re.Match[str]) -> str:
        return _GENERATED if _is_generated(found.group(), new) else found.group()

    message = _ULID.sub(shown, violation.message)
    return {"code": violation.code, "property": violation.property_name, "message": message}


def _is_generated(entity: str, new: range) -> bool:
    """Generated ids differ from run to run, so entries leave them out."""
    return _ULID.fullmatch(entity) is not None and ulid_number(entity) in new
