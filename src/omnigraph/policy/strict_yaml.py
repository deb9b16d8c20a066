"""YAML 1.2 for files that grant access or declare deployments: core scalars only, no duplicate key passes unseen."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped,unused-ignore]

# Aliases may repeat a node, so the expanded document is bounded, not only the text.
_MAX_NODES = 200_000

_CORE: tuple[tuple[str, str, str], ...] = (
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
)
_TAG = "tag:yaml.org,2002:"


class YamlRejected(Exception):
    """The text is not YAML that we accept; callers say which file it was. `path` is spelled as diagnostics spell it."""

    def __init__(self, reason: str, *, path: str = "", duplicate: bool = False) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path
        self.duplicate = duplicate


def load_yaml(text: str) -> Any:
    """The one document of a text as plain values; every mapping key is a string and occurs once."""
    try:
        node = yaml.compose(text, Loader=_CoreLoader)
        return None if node is None else _Builder().value(node, "")
    except yaml.YAMLError as error:
        raise YamlRejected(_syntax(error)) from error
    except RecursionError:
        raise YamlRejected("nested too deeply") from None


def join(path: str, key: str) -> str:
    """The path of a member: `graphs` and `kb` make `graphs.kb`."""
    return f"{path}.{key}" if path else key


class _CoreLoader(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
    """Resolves plain scalars by the core schema, so that `no` and `2024-01-01` stay text."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own class attribute


for _name, _pattern, _first in _CORE:
    # PyYAML files an empty scalar under the empty string.
    _CoreLoader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), ["" if c == "\0" else c for c in _first])


class _Builder:
    """Turns composed nodes into values and counts them."""

    def __init__(self) -> None:
        self._seen = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, path: str) -> Any:
        self._seen += 1
        if self._seen > _MAX_NODES:
            raise YamlRejected(f"more than {_MAX_NODES} values", path=path)
        if id(node) in self._open:
            raise YamlRejected("an alias contains itself", path=path)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, path)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, f"{path}[]") for item in _collection(node, "seq", path)]
            return self._mapping(node, path)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in _collection(node, "map", path):
            key = _scalar(key_node, path) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise YamlRejected(f"line {key_node.start_mark.line + 1}: a key must be text; quote it", path=path)
            if key in result:
                line = key_node.start_mark.line + 1
                raise YamlRejected(f"duplicate key '{key}' on line {line}", path=join(path, key), duplicate=True)
            result[key] = self.value(value_node, join(path, key))
        return result


def _collection(node: yaml.CollectionNode, kind: str, path: str) -> Any:
    if node.tag != _TAG + kind:
        raise YamlRejected(f"unsupported tag '{node.tag}'", path=path)
    return node.value


def _scalar(node: yaml.ScalarNode, path: str) -> Any:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return _text(text, path)
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        case "float":
            return _float(text)
        case tag:
            raise YamlRejected(f"unsupported tag '{tag}'", path=path)


def _text(text: str, path: str) -> str:
    if text.isascii():
        return text
    try:
        # JSON is YAML, but escapes one character beyond the basic plane as two halves.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise YamlRejected("an unpaired surrogate is not a character", path=path) from None


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _syntax(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "not readable as YAML"
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else str(problem)
