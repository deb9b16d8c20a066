"""The shared memory that the agents start from: records, and what each agent will learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SUBJECTS = ("Mrs Lindqvist", "the Bergen office", "the coffee machine")
KNOWN = (
    ("diet", "Mrs Lindqvist does not eat fish.", "preference", 0.7, "Mrs Lindqvist"),
    ("desk", "Mrs Lindqvist likes the desk by the window.", "preference", 0.9, "Mrs Lindqvist"),
    ("hours", "The Bergen office opens at eight.", "fact", 0.8, "the Bergen office"),
    ("broken", "The coffee machine leaks when it is full.", "event", 0.6, "the coffee machine"),
)
LEARNED = {
    "scout": (
        ("ferry", "The last boat to Bergen leaves at six in the evening.", "fact", 0.9, "the Bergen office"),
        ("allergy", "Mrs Lindqvist is allergic to nuts.", "fact", 0.8, "Mrs Lindqvist"),
    ),
    "scribe": (
        ("repair", "A technician fixed the espresso maker on Monday.", "event", 0.95, "the coffee machine"),
        ("early", "The Bergen office now opens at seven.", "fact", 0.9, "the Bergen office"),
    ),
}


def records() -> Iterator[dict[str, Any]]:
    """What everybody knows before the agents set out."""
    for agent in ("archive", *LEARNED):
        yield {"type": "Agent", "data": {"name": agent}}
    for subject in SUBJECTS:
        yield {"type": "Subject", "data": {"name": subject}}
    for slug, text, kind, confidence, subject in KNOWN:
        memory = {"slug": slug, "text": text, "kind": kind, "confidence": confidence}
        yield {"type": "Memory", "data": memory}
        yield {"edge": "About", "from": slug, "to": subject}
        yield {"edge": "Remembers", "from": "archive", "to": slug, "data": {"at": "2026-01-01T00:00:00Z"}}


def lessons(agent: str) -> Iterator[dict[str, Any]]:
    """The parameters of `remember` for everything that one agent learns."""
    for slug, text, kind, confidence, subject in LEARNED[agent]:
        yield {
            "agent": agent,
            "slug": slug,
            "text": text,
            "kind": kind,
            "confidence": confidence,
            "subject": subject,
            "at": "2026-02-01T09:00:00Z",
        }
