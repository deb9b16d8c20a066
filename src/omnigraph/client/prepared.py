"""`graph.prepare(text)` of a served graph: the same shape as in storage; the server remembers the texts it has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from omnigraph.client import calls
from omnigraph.compiler.source import Source
from omnigraph.display import Displayed, ShownList, preformatted
from omnigraph.engine.read.shape.result import Result

if TYPE_CHECKING:
    from omnigraph.client.aio import AsyncGraph
    from omnigraph.client.graph import RemoteGraph


@dataclass(frozen=True, slots=True, repr=False)
class _Read(Displayed):
    """What each call sends beside its parameters."""

    source: str
    name: str | None
    branch: str | None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name or ' '.join(self.source.split())})"

    def _repr_html_(self) -> str:
        return preformatted(self.source)


@dataclass(frozen=True, slots=True, repr=False)
class RemotePrepared(_Read):
    """A read of a served graph that is asked many times; what is wrong with its text shows at the first call."""

    graph: RemoteGraph

    def __call__(self, params: Mapping[str, Any] | None = None) -> Result:
        """Run it with these parameters."""
        return self.graph.query(Source(self.source), self.name, params, branch=self.branch)

    def many(self, params: Sequence[Mapping[str, Any] | None]) -> ShownList[Result]:
        """Run it once for each set of parameters, one request after the other; the results in order."""
        return ShownList(self(each) for each in params)


@dataclass(frozen=True, slots=True, repr=False)
class AsyncPrepared(_Read):
    """The same where calls are awaited."""

    graph: AsyncGraph

    async def __call__(self, params: Mapping[str, Any] | None = None) -> Result:
        """Run it with these parameters."""
        return await self.graph.query(Source(self.source), self.name, params, branch=self.branch)

    async def many(self, params: Sequence[Mapping[str, Any] | None]) -> ShownList[Result]:
        """Run it once for each set of parameters, one request after the other; the results in order."""
        return ShownList([await self(each) for each in params])


class Prepares:
    """What a served branch has of it."""

    def prepare(
        self, source: str | PathLike[str] | Source, name: str | None = None, *, branch: str | None = None
    ) -> RemotePrepared:
        """A read to ask many times: `ask = graph.prepare(text)`, then `ask(params)`; nothing is sent yet."""
        graph: Any = self
        return RemotePrepared(calls.text_of(source), name, branch, graph)


class PreparesAsync:
    """The same where calls are awaited."""

    def prepare(
        self, source: str | PathLike[str] | Source, name: str | None = None, *, branch: str | None = None
    ) -> AsyncPrepared:
        """A read to ask many times: `ask = graph.prepare(text)`, then `await ask(params)`; nothing is sent yet."""
        graph: Any = self
        return AsyncPrepared(calls.text_of(source), name, branch, graph)
