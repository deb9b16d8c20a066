"""Which schema a query file is checked against: a setting, a graph, or a `schema.pg` beside or above the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.source import Source

FILE_NAME = "schema.pg"


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A schema text with its catalog; `path` where it is a file, which definitions lead to."""

    source: Source
    catalog: Catalog
    path: Path | None = None


class Schemas:
    """Finds schemas and remembers the compiled form of each text."""

    def __init__(self, stored: Callable[[], str] | None = None) -> None:
        self.setting: str | None = None
        self._stored = stored
        self._compiled: dict[str, Catalog | None] = {}

    def for_file(self, path: Path, open_texts: Callable[[Path], str | None]) -> KnownSchema | None:
        """The schema for a query file; a text that is open in the editor counts as it stands there."""
        place = self._place(path)
        if place is not None:
            text = open_texts(place)
            if text is None:
                try:
                    text = place.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError):
                    return None
            return self._known(text, place)
        return None if self._stored is None else self._known(self._stored(), None)

    def _place(self, path: Path) -> Path | None:
        if self.setting is not None:
            return Path(self.setting).expanduser()
        if self._stored is not None:
            return None
        return next((each / FILE_NAME for each in path.parents if (each / FILE_NAME).is_file()), None)

    def _known(self, text: str, path: Path | None) -> KnownSchema | None:
        if text not in self._compiled:
            if len(self._compiled) > 20:
                self._compiled.clear()
            self._compiled[text] = _compiled(text)
        catalog = self._compiled[text]
        name = FILE_NAME if path is None else str(path)
        return None if catalog is None else KnownSchema(Source(text, name), catalog, path)


def _compiled(text: str) -> Catalog | None:
    try:
        return compile_schema(text)
    except CompileError:
        return None
