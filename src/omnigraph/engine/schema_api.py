"""`graph.schema`: the accepted schema of a branch."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.core import Core


class Schema:
    """The schema that the graph accepts right now."""

    def __init__(self, core: Core, branch: str | None) -> None:
        self._core = core
        self._branch = branch

    @property
    def source(self) -> str:
        """The text, exactly as it was accepted."""
        return self._core.schemas.of(self._core.state(self._branch)).source

    @property
    def catalog(self) -> Catalog:
        """The compiled types."""
        return self._core.schemas.of(self._core.state(self._branch)).catalog

    @property
    def hash(self) -> str:
        """Identifies the accepted schema, identities included."""
        return self.catalog.ir_hash
