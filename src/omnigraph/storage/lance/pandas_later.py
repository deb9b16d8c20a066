"""Keeps Arrow from importing pandas until somebody uses pandas; imported before anything else touches Arrow.

The first array that Arrow makes imports pandas if it is installed, only to see whether its input might be a pandas
object. That is 0.4 s of every process, most of what a first query costs. Nothing can be a pandas object before pandas
has been imported, so the look is answered with "no", and again when an import of pandas has happened.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

if TYPE_CHECKING:
    from importlib.abc import Loader  # at run time it would bring half of the standard library with it

_PANDAS = "pandas"


def defer_pandas() -> None:
    """Have Arrow look for pandas now, and not find it; done once, and not at all when pandas is in use already."""
    if _PANDAS in sys.modules:
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    pa.array([0])
    finder.hides = False


class _Finder:
    """Hides pandas at first; then finds it like everybody else, and has Arrow told when it has been imported."""

    hides = True

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PANDAS:
            return None
        if self.hides:
            raise ModuleNotFoundError(name)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader, self))
        return spec


class _Loader:
    """The loader of pandas; when it is done, Arrow looks again."""

    def __init__(self, loader: Any, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        # Asking for the module itself makes Arrow import it, even after it was not found before.
        _ = pa.lib._pandas_api.pd

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


defer_pandas()
