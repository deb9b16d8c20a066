"""The tables of `bench/queries.py` in the documentation: times, processor times, threads, loading and disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bench.peers.engine import ANALYTICS, TRAVERSALS, Question
from bench.report import markdown_table
from bench.social import Size

if TYPE_CHECKING:
    from bench.queries import Outcome, Rate

COLD = "cold process, two hops"


def section(
    size: Size, outcomes: list[Outcome], before: str, flat: Mapping[int, float], points: Mapping[int, float]
) -> str:
    """Everything of one run."""
    smallest = next(iter(points.values()))
    parts = [
        f"### {size.people:,} people, {size.knows:,} edges",
        f"{before}. In brackets: how many times our time, or processor time, the engine takes; above 1 we are ahead, "
        "**below 1 we are behind**. From some people: the median of the medians of several processes, engines by "
        "turns, and between which figures these were.",
        _questions("median ms, from some people", outcomes, TRAVERSALS, "ms"),
        _questions("median ms, over everything", outcomes, ANALYTICS, "ms"),
        _questions("ms of processor time, from some people", outcomes, TRAVERSALS, "cpu_ms"),
        _questions("ms of processor time, over everything", outcomes, ANALYTICS, "cpu_ms"),
        _threads(outcomes),
        _once(outcomes),
        "\n".join(f"- *{outcome.engine}*: {outcome.remarks}" for outcome in outcomes if outcome.remarks),
        "Cost per row of the answer, and of one node by its key among more and more:",
        markdown_table(
            ["rows of the answer", "ms", "µs per row"],
            [[f"{rows:,}", f"{taken:,.2f}", f"{taken * 1000 / rows:.2f}"] for rows, taken in flat.items()],
        ),
        markdown_table(
            ["nodes in the table", "ms", "of the smallest"],
            [[f"{rows:,}", f"{taken:.3f}", f"{taken / smallest:.2f}"] for rows, taken in points.items()],
        ),
    ]
    return "\n\n".join(parts)


def _head(first: str, outcomes: list[Outcome]) -> list[str]:
    return [first, *(f"{outcome.engine} {outcome.version}" for outcome in outcomes)]


def _questions(title: str, outcomes: list[Outcome], questions: Sequence[Question], unit: str) -> str:
    names = [question.name for question in questions if question.name in outcomes[0].cases]
    rows = [[name, *(_taken(outcome, outcomes[0], name, unit) for outcome in outcomes)] for name in names]
    return markdown_table(_head(title, outcomes), rows)


def _taken(outcome: Outcome, ours: Outcome, name: str, unit: str) -> str:
    found = outcome.cases.get(name, {})
    late = found.get("late")
    if late:
        return f"not in {late:.0f} s"
    return _compared(found.get(unit), ours.cases[name].get(unit), found.get("spread", {}).get(unit))


def _threads(outcomes: list[Outcome]) -> str:
    """More is better here, so that a peer's number above ours is below 1."""
    rows = []
    for name, rates in outcomes[0].rates.items():
        for threads in rates:
            found = [outcome.rates.get(name, {}).get(threads) for outcome in outcomes]
            rows.append([f"{name}, {threads} threads", *(_rate(each, found[0]) for each in found)])
    return markdown_table(_head("answers a second", outcomes), rows)


def _rate(found: Rate | None, ours: Rate | None) -> str:
    if found is None or ours is None:
        return "–"
    low, high = found.spread
    shown = f"{found.median:,.0f}{_between(f'{low:,.0f}', f'{high:,.0f}')}"
    if found is ours:
        return shown
    ratio = f"{ours.median / found.median:.3g}×"
    return f"{shown} (**{ratio}**)" if found.median > ours.median else f"{shown} ({ratio})"


def _between(low: str, high: str) -> str:
    """How far figures of several processes are apart; nothing where they are the same."""
    return "" if low == high else f", {low} to {high}"


def _once(outcomes: list[Outcome]) -> str:
    rows = [
        _row(COLD + ", ms", outcomes, lambda outcome: outcome.cold_ms),
        _row("insert one node and commit, ms", outcomes, lambda outcome: outcome.insert["ms"]),
        _row("insert one node and commit, ms of processor time", outcomes, lambda outcome: outcome.insert["cpu_ms"]),
        _row("load, with all that a fast first query needs, s", outcomes, lambda outcome: outcome.built["s"]),
        _row("load, s of processor time", outcomes, lambda outcome: outcome.built["cpu_s"]),
        _row("peak memory of the load, MiB", outcomes, lambda outcome: outcome.built["peak_mb"]),
        _row("peak memory of the questions, MiB", outcomes, lambda outcome: outcome.peak_mb),
        _row("disk, MB", outcomes, lambda outcome: outcome.built["disk_mb"]),
    ]
    return markdown_table(_head("once", outcomes), rows)


def _row(name: str, outcomes: list[Outcome], value: Callable[[Outcome], float | None]) -> list[str]:
    ours = value(outcomes[0])
    return [name, *(_compared(value(outcome), ours) for outcome in outcomes)]


def _compared(taken: float | None, ours: float | None, spread: tuple[float, float] | None = None) -> str:
    if taken is None:
        return "–"
    shown = _figure(taken) + ("" if spread is None else _between(*map(_figure, spread)))
    if ours is None or taken is ours:
        return shown
    ratio = f"{taken / ours:,.3g}×" if taken < 1_000 * ours else f"{taken / ours:,.0f}×"
    return f"{shown} (**{ratio}**)" if taken < ours else f"{shown} ({ratio})"


def _figure(taken: float) -> str:
    return f"{taken:,.3g}" if taken < 1_000 else f"{taken:,.0f}"
