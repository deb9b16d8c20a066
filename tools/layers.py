"""Draws the layers of the import contracts in `pyproject.toml`: `python tools/layers.py` writes docs/layers.svg."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURE = REPOSITORY / "docs" / "layers.svg"
ROW, GAP, WIDTH, MARGIN, HEAD = 30, 8, 296, 16, 26


@dataclass(frozen=True, slots=True)
class Column:
    """One contract: its container and its layers, the highest first, each a few packages side by side."""

    title: str
    layers: tuple[tuple[str, ...], ...]


def columns(pyproject: str) -> list[Column]:
    """The layer contracts in the order of the file."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    found = []
    for contract in contracts:
        if contract["type"] != "layers":
            continue
        container = contract.get("containers", ["omnigraph"])[0]
        layers = tuple(tuple(_name(part, container) for part in layer.split("|")) for layer in contract["layers"])
        found.append(Column(container, layers))
    return found


def _name(part: str, container: str) -> str:
    return part.strip().strip("()").removeprefix(f"{container}.")


def svg(found: list[Column]) -> str:
    """One column of boxes per contract; each row uses only the rows below it."""
    height = MARGIN * 2 + HEAD + max(len(column.layers) for column in found) * (ROW + GAP)
    width = MARGIN + len(found) * (WIDTH + MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Layers: each row uses only the rows below it</title>",
        "<style>rect{fill:#eef3fb;stroke:#4a6fa5}text{fill:#16233a}.t{font-weight:600}"
        "@media (prefers-color-scheme:dark){rect{fill:#1f2b3d;stroke:#7fa3d8}text{fill:#e6edf7}}</style>",
    ]
    for number, column in enumerate(found):
        left = MARGIN + number * (WIDTH + MARGIN)
        lines.append(f'<text class="t" x="{left}" y="{MARGIN + 12}">{escape(column.title)}</text>')
        top = height - MARGIN - len(column.layers) * (ROW + GAP) + GAP
        for row, layer in enumerate(column.layers):
            lines += _row(layer, left, top + row * (ROW + GAP))
    return "\n".join([*lines, "</svg>", ""])


def _row(layer: tuple[str, ...], left: int, top: int) -> list[str]:
    share = (WIDTH - GAP * (len(layer) - 1)) / len(layer)
    lines = []
    for place, name in enumerate(layer):
        x = left + place * (share + GAP)
        middle = f'x="{x + share / 2:.1f}" y="{top + ROW / 2 + 4:.0f}" text-anchor="middle"'
        size = ' font-size="10.5"' if len(layer) > 3 else ""
        lines.append(f'<rect x="{x:.1f}" y="{top}" width="{share:.1f}" height="{ROW}" rx="4"/>')
        lines.append(f"<text {middle}{size}>{escape(name)}</text>")
    return lines


def current() -> str:
    """The picture that the contracts ask for."""
    return svg(columns((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")))


if __name__ == "__main__":
    PICTURE.write_text(current(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(REPOSITORY)}\n")
