"""The YAML of a mapping, in which words stay words: `yes`, `no`, `on` and dates are texts, as cells and columns are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from omnigraph.errors import BadRequest

_FLAGS = {"yes": True, "on": True, "no": False, "off": False}
_READ_AS_TEXT = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}


def parse_yaml(text: str) -> Any:
    """What a text says; errors are those of the YAML library."""
    import yaml  # type: ignore[import-untyped,unused-ignore]

    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> Any:
    """YAML 1.1 has booleans and dates that 1.2 has not; `true` and `false` are the booleans of both."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc,unused-ignore]
        yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {
            first: [(tag, pattern) for tag, pattern in found if tag not in _READ_AS_TEXT]
            for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
    )
    return Loader


def flag(what: str, given: Mapping[str, Any], member: str, *, default: bool = False) -> bool:
    """A member that is true or false, also in the words that YAML used to have for them."""
    value = given.get(member, default)
    value = _FLAGS.get(value.lower(), value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise BadRequest(f"{what}: {member} is true or false")
    return value
