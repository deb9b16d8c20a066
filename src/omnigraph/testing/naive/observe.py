"""What a real graph holds, in the plain form the model uses."""

from __future__ import annotations

from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.entity import all_rows
from omnigraph.engine.views.view import View
from omnigraph.testing.naive.constraints import Image


def image_of(view: View) -> Image:
    """Every row of a view: table key → id → row, values as JSON prints them."""
    types = table_types(view.catalog)
    return {key: {row["id"]: row for row in json_rows(all_rows(view, info))} for key, info in types.items()}
