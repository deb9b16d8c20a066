"""`infer`: a first schema and mapping for files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.pipeline.formats.infer import Inference


def infer_files(call: Call) -> None:
    """Print both, or write them into a directory; what was found is printed beside them."""
    from omnigraph.pipeline.formats.infer import infer

    place, sample = call.text("--out"), call.number("--sample")
    if sample is not None and sample < 0:
        raise BadRequest("--sample is a number of rows; 0 looks at all of them")
    found = infer(*call.rest("FILE"), relative_to=place, enums=not call.given("--no-enums"), sample=sample or None)
    if not call.json:
        _tell(call, found)
    _draw(call, found)
    if place is not None:
        _write(call, found, place)
        return
    if call.json:
        output.document({"schema": found.schema, "mapping": dict(found.mapping), **_reasons(call, found)})
        return
    output.write(f"{found.schema}\n# mapping.yaml\n{found.mapping_text}")


def _tell(call: Call, found: Inference) -> None:
    for line in found.evidence if call.given("--explain") else ():
        output.note(line)
    for line in found.report:
        output.note(line)
    for note in found.notes:
        output.note(f"note: {note}")


def _reasons(call: Call, found: Inference) -> dict[str, object]:
    evidence = {"evidence": list(found.evidence)} if call.given("--explain") else {}
    return {"notes": list(found.notes), "report": list(found.report), **evidence}


def _draw(call: Call, found: Inference) -> None:
    path = call.text("--draw")
    if path is None:
        return
    from omnigraph.cli.verbs.data.draw import write_picture
    from omnigraph.compiler.catalog import compile_schema
    from omnigraph.render.types import draw_schema

    write_picture(path, draw_schema(compile_schema(found.schema), found.schema))
    output.note(f"drew the proposal in {path}")


def _write(call: Call, found: Inference, place: str) -> None:
    written = [str(path) for path in found.write(place)]
    if call.json:
        output.document({"written": written, **_reasons(call, found)})
        return
    output.line(f"wrote {' and '.join(written)}")
    graph = os.path.join(place, "graph.omni")
    output.line(f"next: omnigraph init --schema {written[0]} {graph}")
    output.line(f"      omnigraph load {graph} --mapping {written[1]} --mode append")
