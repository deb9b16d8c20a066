"""Whether the simulation finds defects: it runs against deliberate ones, those that `tests.mutants` names for storage.

`python -m tests.simulation.mutants --seconds 60` says of each how many seeds it took to notice it.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutants.mutations import MUTATIONS
from tests.simulation.run import STEPS, Report, scenario_of, simulate

_SOURCE = "src/"


@contextmanager
def mutated(file: str, original: str, replacement: str) -> Iterator[None]:
    """The functions of a module with a line of it changed, whoever has imported them."""
    module = importlib.import_module(file.removeprefix(_SOURCE).removesuffix(".py").replace("/", "."))
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    if source.count(original) != 1:
        raise ValueError(f"{file} does not have the line {original!r} once")
    changed = _codes(compile(source.replace(original, replacement), str(module.__file__), "exec"))
    functions = {name: found for name, found in _functions(module).items() if name in changed}
    before = {name: function.__code__ for name, function in functions.items()}
    for name, function in functions.items():
        function.__code__ = changed[name]
    try:
        yield
    finally:
        for name, function in functions.items():
            function.__code__ = before[name]


def first_failure(seeds: range, *, steps: int = STEPS) -> Report | None:
    """The first seed that does not hold."""
    for seed in seeds:
        report = simulate(scenario_of(seed, steps=steps))
        if report.failure is not None:
            return report
    return None


def _codes(code: CodeType, prefix: str = "") -> dict[str, CodeType]:
    """The code of every function and method of a module, by qualified name; functions inside functions are part of them."""
    found = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found[f"{prefix}{each.co_name}"] = each
            if not prefix:
                found |= _codes(each, f"{each.co_name}.")
    return found


def _functions(module: ModuleType) -> dict[str, FunctionType]:
    found: dict[str, FunctionType] = {}
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            for inner, member in vars(value).items():
                _add(found, f"{name}.{inner}", member)
        elif getattr(value, "__module__", None) == module.__name__:
            _add(found, name, value)
    return found


def _add(found: dict[str, FunctionType], name: str, value: Any) -> None:
    value = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__wrapped__", value)
    if isinstance(value, FunctionType):
        found[name] = value


def main() -> int:
    """Print what became of each mutation; 0 when all were tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look for each (default 60)")
    parser.add_argument("--only", default="", help="part of a name")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    for mutation in MUTATIONS:
        # A simulated disk loses nothing that was written to it, so those of power cuts have a test of their own.
        if "/storage/" in mutation.file and options.only in mutation.name and "power cut" not in mutation.name:
            print(_tried(mutation, options.seconds), flush=True)
    return 0


def _tried(mutation: Any, seconds: float) -> str:
    started, seed = time.monotonic(), 0
    with mutated(mutation.file, mutation.original, mutation.replacement):
        while time.monotonic() - started < seconds:
            report = simulate(scenario_of(seed))
            seed += 1
            if report.failure is not None:
                return f"caught by seed {seed - 1:>4}  {mutation.name}: {str(report.failure)[:110]}"
    return f"not caught ({seed} seeds)  {mutation.name}"


if __name__ == "__main__":
    sys.exit(main())
