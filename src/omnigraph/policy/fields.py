"""Strict reading of one mapping of a parsed document: every key is known, every value has its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omnigraph.policy.strict_yaml import join

_NAMES = {dict: "a mapping", list: "a list", str: "text", int: "a whole number", bool: "true or false"}


class FieldRejected(Exception):
    """A value does not have the shape that its place asks for; callers say in which file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


class Fields:
    """One mapping; reading a key of another type, or a mapping with an unknown key, raises FieldRejected."""

    def __init__(self, value: Any, path: str, known: Sequence[str]) -> None:
        self._value: Mapping[str, Any] = expect(value, dict, path)
        self.path = path
        for key in self._value:
            if key not in known:
                raise FieldRejected(join(path, key), f"unknown key '{key}' (known: {', '.join(known)})")

    def has(self, key: str) -> bool:
        return self._value.get(key) is not None

    def declares(self, key: str) -> bool:
        """Whether the key is written, even with nothing behind it."""
        return key in self._value

    def required(self, key: str) -> Any:
        if not self.has(key):
            raise FieldRejected(self.at(key), f"missing key '{key}'")
        return self._value[key]

    def text(self, key: str) -> str:
        return str(expect(self.required(key), str, self.at(key)))

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def number(self, key: str) -> int:
        return int(expect(self.required(key), int, self.at(key)))

    def flag(self, key: str, *, default: bool) -> bool:
        return bool(expect(self.required(key), bool, self.at(key))) if self.has(key) else default

    def texts(self, key: str) -> list[str]:
        """A list of text; absent is empty."""
        return [expect(item, str, path) for item, path in self.items(key)]

    def items(self, key: str) -> Iterator[tuple[Any, str]]:
        """The items of a list with their paths; absent is empty."""
        values = expect(self._value[key], list, self.at(key)) if self.has(key) else []
        return ((item, f"{self.at(key)}[{index}]") for index, item in enumerate(values))

    def members(self, key: str) -> Iterator[tuple[str, Any, str]]:
        """The members of a mapping with free names: name, value, path; absent is empty."""
        values = expect(self._value[key], dict, self.at(key)) if self.has(key) else {}
        return ((name, value, join(self.at(key), name)) for name, value in values.items())

    def at(self, key: str) -> str:
        return join(self.path, key)


def expect(value: Any, kind: type, path: str) -> Any:
    """The value, if it is exactly of this kind: a number is not text, and true is not a number."""
    if type(value) is not kind:
        raise FieldRejected(path, f"expected {_NAMES[kind]}, found {_found(value)}")
    return value


def _found(value: Any) -> str:
    if value is None:
        return "nothing"
    shown = _NAMES.get(type(value), "a number")
    return f"{shown} ({value!r})" if isinstance(value, (int, float, str)) else shown
