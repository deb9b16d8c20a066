"""A drawing that a notebook shows and a file takes: SVG text that knows the picture it was made of."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.display import counted
from omnigraph.render.picture import Picture
from omnigraph.render.render import render
from omnigraph.render.svg import to_svg


class Drawing(str):
    """SVG text; notebooks show it as a picture, and `save` writes it as SVG, PNG, HTML, DOT or Mermaid."""

    picture: Picture

    @classmethod
    def of(cls, picture: Picture) -> Drawing:
        """The drawing of a picture."""
        made = cls(to_svg(picture))
        made.picture = picture
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it in the form that the file's ending asks for."""
        Path(path).write_bytes(render(self.picture, os.fspath(path)))

    def __repr__(self) -> str:
        nodes, edges = counted(len(self.picture.boxes), "node"), counted(self.picture.edges, "edge")
        return f"<Drawing of {self.picture.title}: {nodes}, {edges}>"

    def _repr_svg_(self) -> str:
        return str(self)
