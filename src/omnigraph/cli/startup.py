"""What keeps a command quick to start and to end; for the process of a command only, never for a program that uses
the library.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader  # at run time it would bring half of the standard library with it

_PANDAS = "pandas"
_ITS_USER = "pyspark"


def defer_pandas() -> None:
    """Let Arrow and Lance find no pandas in this process until Spark, its only user in a command, is imported.

    Arrow imports pandas with the first array it makes, only to see whether its input might be a pandas object; that
    takes longer than most commands.
    """
    sys.meta_path.insert(0, _Finder())


def end_at_once() -> None:
    """Let the interpreter end without looking for garbage among all modules, a sixth of the time of a short command.

    What is left then is garbage as a whole; what a command writes is closed before.
    """
    atexit.register(gc.freeze)


class _Finder:
    """Says of pandas that it is not installed as long as Spark is not imported, and nothing of anything else."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PANDAS:
            return None
        if _ITS_USER not in sys.modules:
            raise ModuleNotFoundError("pandas is not needed by this command", name=name)
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader))
        return spec


class _Loader:
    """The loader of pandas; when it is done, Arrow looks for pandas again."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if "pyarrow" in sys.modules:
            import pyarrow as pa

            pa.array([0]).to_pandas()  # a conversion looks for pandas even after it was not found before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
