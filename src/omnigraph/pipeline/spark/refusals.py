"""What is refused inside a Python process of Spark, or in a function that Spark calls, told as its message.

Spark would show the whole traceback.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

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


@contextmanager
def told_to_java(spark: Any) -> Iterator[None]:
    """A block that the JVM of a session has called, whose refusals end the query with their message.

    Of an exception of Python the JVM is given the traceback as text. One of Java is passed on as it is, where the
    gateway allows it; Spark leaves that off, and everything else that it calls behaves as before.
    """
    try:
        yield
    except OmnigraphError as error:
        from py4j.protocol import Py4JJavaError

        gateway = spark.sparkContext._gateway
        gateway.callback_server_parameters.propagate_java_exceptions = True
        told = f"{type(error).__name__}: {error}"
        raise Py4JJavaError(told, gateway.jvm.java.lang.RuntimeException(told)) from error


def _in_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")
