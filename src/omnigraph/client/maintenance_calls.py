"""What operators ask of a served graph; the reports are passed on as the server tells them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from omnigraph.client.request import Answer, Request, members


def run(verb: str, **body: Any) -> Request[dict[str, Any]]:
    """One kind of maintenance."""
    return Request("POST", f"/maintenance/{verb}", _document, json=members(**body))


def _document(answer: Answer) -> dict[str, Any]:
    return dict(answer.json())


def age(given: str | int | timedelta | None) -> str | None:
    """An age as the route takes it."""
    if given is None or isinstance(given, str):
        return given
    seconds = given if isinstance(given, int) else round(given.total_seconds())
    return f"{seconds}s"
