"""The compiled schema: catalogs, accepted schemas and migration plans.

Knows nothing of tables or data.
"""

from __future__ import annotations

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
def __getattr__(name: str) -> Any:
    home: Any
    match name:
        case "Accepted" | "accept_schema" | "compile_schema" | "decode_accepted":
            from omnigraph.compiler.catalog import accepted as home
        case "decode_state":
            from omnigraph.compiler.catalog import decode_ir as home
        case "Plan" | "plan_migration":
            from omnigraph.compiler.catalog import migrate as home
        case "Catalog":
            from omnigraph.compiler.catalog import model as home
        case "Step" | "UnsupportedChange" | "step_json" | "step_text":
            from omnigraph.compiler.catalog import steps as home
        case _:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(home, name)
    globals()[name] = value
    return value
