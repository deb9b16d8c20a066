"""Which renderer a file name asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

from omnigraph.errors import BadRequest
from omnigraph.render.picture import Picture


def render(picture: Picture, name: str) -> bytes:
    """The bytes for a file of this name; BadRequest when its ending is not one of ours."""
    suffix = PurePath(name).suffix.lower()
    renderer = _RENDERERS.get(suffix)
    if renderer is None:
        raise BadRequest(f"cannot draw '{name}': the ending is one of {', '.join(sorted(_RENDERERS))}")
    return renderer(picture)


def _svg(picture: Picture) -> bytes:
    from omnigraph.render.svg import to_svg

    return to_svg(picture).encode()


def _html(picture: Picture) -> bytes:
    from omnigraph.render.svg import to_html

    return to_html(picture).encode()


def _png(picture: Picture) -> bytes:
    from omnigraph.render.png import to_png

    return to_png(picture)


def _dot(picture: Picture) -> bytes:
    from omnigraph.render.text import to_dot

    return to_dot(picture).encode()


def _mermaid(picture: Picture) -> bytes:
    from omnigraph.render.text import to_mermaid

    return to_mermaid(picture).encode()


_RENDERERS: Mapping[str, Callable[[Picture], bytes]] = {
    ".dot": _dot,
    ".html": _html,
    ".mmd": _mermaid,
    ".png": _png,
    ".svg": _svg,
}
