"""Every class that a caller of the SDK can come to hold, found by following annotations from the public names on."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

_NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Place:
    """Where a class comes from: the member that returns it, and the whole annotation of that member."""

    member: str
    annotation: str


def reachable(roots: dict[str, type], inside: tuple[str, ...]) -> dict[type, list[Place]]:
    """The classes of ours that public methods, properties and fields give, beginning with these.

    Classes of modules whose names begin with one of `inside` are left out, and so is what only they lead to.
    """
    found: dict[type, list[Place]] = {each: [Place(name, name)] for name, each in roots.items()}
    waiting = list(found)
    while waiting:
        holder = waiting.pop()
        for member, annotation, module in _given(holder):
            for each in _classes(annotation, module):
                if each.__module__.startswith(inside) or each.__name__.startswith("_"):
                    continue
                if each not in found:
                    waiting.append(each)
                found.setdefault(each, []).append(Place(f"{holder.__name__}.{member}", annotation))
    return found


def _given(holder: type) -> Iterator[tuple[str, str, str]]:
    """Each public member of a class with the text of what it gives, and the module that text belongs to."""
    for base in holder.__mro__:
        if not base.__module__.startswith("omnigraph"):
            continue
        for name, member in vars(base).items():
            function = _function(member)
            if function is not None and (not name.startswith("_") or name in ("__enter__", "__getitem__", "__call__")):
                yield name, str(function.__annotations__.get("return", "")), function.__module__
        if dataclasses.is_dataclass(base):
            for name, annotation in inspect.get_annotations(base).items():
                if not name.startswith("_"):
                    yield name, str(annotation), base.__module__


def _function(member: Any) -> Any:
    found = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", None)
    found = inspect.unwrap(found or member) if callable(found or member) else None
    return found if inspect.isfunction(found) else None


def _classes(annotation: str, module: str) -> Iterator[type]:
    for name in _NAME.findall(annotation.replace('"', "").replace("'", "")):
        found = _resolved(name, module)
        if inspect.isclass(found) and found.__module__.startswith("omnigraph"):
            yield found
        elif found is not None and not inspect.isclass(found) and "omnigraph" in str(found):  # an alias of our types
            for inner in re.findall(r"omnigraph[\w.]+", str(found)):
                home, _, last = inner.rpartition(".")
                value = getattr(importlib.import_module(home), last, None)
                if inspect.isclass(value):
                    yield value


def _resolved(name: str, module: str) -> Any:
    first, *rest = name.split(".")
    found = getattr(sys.modules[module], first, None)
    if found is None and first in (known := _imports(module)):
        home, origin = known[first]
        found = getattr(importlib.import_module(home), origin, None)
    if isinstance(found, str):  # an alias that is written as a string
        return next(_classes(found, module), None)
    for each in rest:
        found = getattr(found, each, None)
    return found


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """What a module imports by name, also for type checkers only or inside a function."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
