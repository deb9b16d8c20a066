"""What the nouns of a graph share: they say which graph they belong to."""

from __future__ import annotations

from omnigraph.display import Displayed
from omnigraph.engine.views.core import Core


class Noun(Displayed):
    """A part of an opened graph, such as its branches."""

    _core: Core

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of '{self._core.store.root.uri}'>"
