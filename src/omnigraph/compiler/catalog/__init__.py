"""The compiled schema: catalogs, accepted schemas and migration plans."""

from __future__ import annotations

from omnigraph.compiler.catalog.accepted import Accepted, accept_schema, decode_accepted, draft_of
from omnigraph.compiler.catalog.assemble import assemble
from omnigraph.compiler.catalog.decode_ir import decode_state
from omnigraph.compiler.catalog.migrate import Plan, plan_migration
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.catalog.steps import Step, UnsupportedChange, step_json, step_text
from omnigraph.compiler.source import Source

__all__ = [
    "Accepted",
    "Catalog",
    "Plan",
    "Step",
    "UnsupportedChange",
    "accept_schema",
    "compile_schema",
    "decode_accepted",
    "decode_state",
    "plan_migration",
    "step_json",
    "step_text",
]


def compile_schema(text: Source | str | bytes, *, name: str = "<string>") -> Catalog:
    """The catalog of a schema text, without identity: ids are 0 and keys are in alphabetical order."""
    return assemble(draft_of(text, name=name).shape)
