"""`infer`: a first schema and mapping for files."""

from __future__ import annotations

import os

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output


def infer_files(call: Call) -> None:
    """Print both, or write them into a directory."""
    from omnigraph.pipeline.formats.infer import infer

    place = call.text("--out")
    found = infer(*call.rest("FILE"), relative_to=place, enums=not call.given("--no-enums"))
    for note in found.notes:
        output.note(f"note: {note}")
    if place is not None:
        written = [str(path) for path in found.write(place)]
        if call.json:
            output.document({"written": written, "notes": list(found.notes)})
        else:
            output.line(f"wrote {' and '.join(written)}")
            graph = os.path.join(place, "graph.omni")
            output.line(f"next: omnigraph init --schema {written[0]} {graph}")
            output.line(f"      omnigraph load {graph} --mapping {written[1]} --mode append")
        return
    if call.json:
        output.document({"schema": found.schema, "mapping": dict(found.mapping), "notes": list(found.notes)})
        return
    output.write(f"{found.schema}\n# mapping.yaml\n{found.mapping_text}")
