"""The compiled schema: catalogs, accepted schemas and migration plans.

Knows nothing of tables or data.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.accepted import Accepted, accept_schema, compile_schema, decode_accepted
    from omnigraph.compiler.catalog.decode_ir import decode_state
    from omnigraph.compiler.catalog.migrate import Plan, plan_migration
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.compiler.catalog.steps import Step, UnsupportedChange, step_json, step_text

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

# A read opens a graph and never plans a migration, so each name is loaded when it is first used.
_HOMES = {
    "Accepted": "accepted",
    "Catalog": "model",
    "Plan": "migrate",
    "Step": "steps",
    "UnsupportedChange": "steps",
    "accept_schema": "accepted",
    "compile_schema": "accepted",
    "decode_accepted": "accepted",
    "decode_state": "decode_ir",
    "plan_migration": "migrate",
    "step_json": "steps",
    "step_text": "steps",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
