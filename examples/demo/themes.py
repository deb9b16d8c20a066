"""What the demo's papers and documents talk about: each theme says one thing in several ways."""

from __future__ import annotations

from typing import NamedTuple


class Theme(NamedTuple):
    """A name for people, titles for papers, sentences for documents."""

    name: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


THEMES = (
    Theme(
        "surviving a power cut",
        ("Crash recovery with intent records", "Write-ahead logging revisited", "Durable commits on cheap disks"),
        (
            "After the outage the cluster replayed its journal and lost nothing.",
            "An operator pulled the plug twice and the database came back in a second.",
            "Every write is either finished or undone when the machine restarts.",
        ),
    ),
    Theme(
        "hiring engineers",
        ("Structured interviews work", "What a job posting says about a team", "Onboarding in the first month"),
        (
            "Candidates told us that the take-home exercise was too long.",
            "We will offer two graduate positions next spring.",
            "The recruiter asks every applicant the same five questions.",
        ),
    ),
    Theme(
        "bees and pollination",
        ("Wild bees in orchards", "Flower strips and crop yield", "Insect decline in farmland"),
        (
            "Honey production fell because the orchard was sprayed in bloom.",
            "Hives next to a meadow collected more pollen than those near maize.",
            "Bumblebees visited the blossoms even on cold mornings.",
        ),
    ),
    Theme(
        "quarterly revenue",
        ("Pricing of subscriptions", "Forecasting sales with few data", "Churn and its early signs"),
        (
            "Income grew by nine percent while marketing spending stayed flat.",
            "Two large customers left, and the finance team lowered its forecast.",
            "The margin of the hardware line is thinner than planned.",
        ),
    ),
    Theme(
        "protein folding",
        ("Molecular dynamics at scale", "Learning structure from sequence", "Enzymes that like heat"),
        (
            "The simulation reached the native state after forty microseconds.",
            "Amino acids at the surface decide how stable the molecule is.",
            "A mutation in the binding pocket stopped the catalyst from working.",
        ),
    ),
    Theme(
        "sailing weather",
        ("Wind forecasts for small harbours", "Routing around storms", "Tides in narrow straits"),
        (
            "The regatta was postponed because a gale was expected by noon.",
            "With the current against us the crossing took twice as long.",
            "A falling barometer made the skipper turn back to port.",
        ),
    ),
)
