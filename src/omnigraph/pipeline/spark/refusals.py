"""What is refused inside a Python process of Spark, told as its message: Spark would show the whole traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from omnigraph.errors import OmnigraphError

P = ParamSpec("P")
R = TypeVar("R")

# What Spark's worker looks at when it writes down the exception that ended it.
_HIDE = "SPARK_HIDE_TRACEBACK"


def told_plainly(call: Callable[P, R]) -> Callable[P, R]:
    """A method of a data source whose refusals reach the user as their message."""

    @functools.wraps(call)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except OmnigraphError:
            if _in_worker():
                os.environ[_HIDE] = "1"  # the process ends with this exception, or goes on to the next task
            raise
        except Exception:
            if _in_worker():
                os.environ.pop(_HIDE, None)
            raise

    return plain


def _in_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")
