"""Tables of results in `docs/benchmarks.md`: each benchmark owns the part between its two markers."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def write_section(name: str, text: str) -> None:
    """Replace what stands between the markers of a section; a new section goes to the end of the page."""
    begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmarks\n"
    before, found, rest = page.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    separator = "" if found else "\n"
    PAGE.write_text(f"{before}{separator}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def circumstances() -> str:
    """Date, machine and load, in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    load = " / ".join(f"{value:.1f}" for value in os.getloadavg())
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine}, load average {load}"
