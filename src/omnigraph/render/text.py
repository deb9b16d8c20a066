"""A picture as text: a tree for terminals, DOT for Graphviz, Mermaid for documents."""

from __future__ import annotations

import json
from collections.abc import Iterator

from omnigraph.render.picture import Arrow, Box, Picture


def to_tree(picture: Picture) -> str:
    """The boxes as a tree from the first one, each arrow once; one to a box that is drawn already ends in ↩."""
    if not picture.boxes:
        return f"{picture.title}: nothing\n"
    lines = list(_Tree(picture).lines())
    if picture.cut:
        lines.append("… more was left out; raise --limit to see it")
    return "\n".join(lines) + "\n"


class _Tree:
    """What a walk along the arrows has drawn so far."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._titles = {box.key: _named(box) for box in picture.boxes}
        self._seen: set[str] = set()
        self._drawn: set[Arrow] = set()

    def lines(self) -> Iterator[str]:
        for box in self._picture.boxes:
            if box.key not in self._seen:
                self._seen.add(box.key)
                yield self._titles[box.key]
                yield from self._below(box.key, "")

    def _below(self, key: str, indent: str) -> Iterator[str]:
        touching = [each for each in self._picture.arrows if key in (each.source, each.target)]
        fresh = [arrow for arrow in touching if arrow not in self._drawn]
        self._drawn.update(fresh)
        for place, arrow in enumerate(fresh):
            last, far = place == len(fresh) - 1, _far(arrow, key)
            sign = f"─{arrow.text}→" if arrow.source == key else f"←{arrow.text}─"
            known = far in self._seen
            yield f"{indent}{'└' if last else '├'}{sign} {self._titles[far]}{' ↩' if known else ''}"
            if not known:
                self._seen.add(far)
                yield from self._below(far, indent + ("   " if last else "│  "))


def _far(arrow: Arrow, key: str) -> str:
    return arrow.target if arrow.source == key else arrow.source


def to_dot(picture: Picture) -> str:
    """A directed graph for Graphviz."""
    lines = [f"digraph {_quoted(picture.title)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(box.key)} [label={_quoted(_label(box.kind, box.title))}];" for box in picture.boxes]
    lines += [
        f"  {_quoted(arrow.source)} -> {_quoted(arrow.target)} [label={_quoted(arrow.text)}];"
        for arrow in picture.arrows
    ]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(picture: Picture) -> str:
    """A flowchart for Mermaid; boxes get short names because ids may hold anything."""
    names = {box.key: f"n{index}" for index, box in enumerate(picture.boxes)}
    lines = ["flowchart LR"]
    lines += [f'  {names[box.key]}["{_escaped(_label(box.kind, box.title))}"]' for box in picture.boxes]
    lines += [
        f'  {names[arrow.source]} -->|"{_escaped(arrow.text)}"| {names[arrow.target]}' for arrow in picture.arrows
    ]
    return "\n".join(lines) + "\n"


def _named(box: Box) -> str:
    """The label, and what the box can be looked up by where that is something else."""
    label = _label(box.kind, box.title)
    return label if box.name in ("", box.title) else f"{label} ({box.name})"


def _label(kind: str, title: str) -> str:
    return title if kind == title else f"{kind} {title}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
