"""One invocation as its command sees it: typed access to options, arguments and the operator config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from omnigraph.cli.address.config import OperatorConfig, load_config
from omnigraph.cli.table.model import Command
from omnigraph.cli.table.parse import Parsed


class Call:
    """A parsed command together with the environment it runs in."""

    def __init__(self, parsed: Parsed, env: Mapping[str, str] = os.environ) -> None:
        self.parsed = parsed
        self.env = env

    @property
    def command(self) -> Command:
        return self.parsed.command

    @cached_property
    def config(self) -> OperatorConfig:
        """The operator config, read when it is first needed and never twice."""
        return load_config(self.env)

    @property
    def json(self) -> bool:
        """Whether one JSON document is wanted."""
        return self.given("--json")

    def given(self, name: str) -> bool:
        """Whether an option was written out."""
        return name in self.parsed.options

    def text(self, name: str) -> str | None:
        """The value of an option, or its default."""
        values = self.parsed.options.get(name)
        if values:
            return values[-1]
        option = self.command.option(name)
        return None if option is None else option.default

    def value(self, name: str) -> str:
        """The value of an option that is required or has a default."""
        found = self.text(name)
        assert found is not None, f"the table promises a value for {name}"
        return found

    def number(self, name: str) -> int | None:
        """The value of a numeric option."""
        found = self.text(name)
        return None if found is None else int(found)

    def many(self, name: str) -> list[str]:
        """Every value of a repeatable option."""
        return list(self.parsed.options.get(name, ()))

    def argument(self, name: str) -> str | None:
        """A positional argument."""
        values = self.parsed.arguments.get(name)
        return values[0] if values else None

    def required(self, name: str) -> str:
        """A positional argument that the table requires."""
        return self.parsed.arguments[name][0]

    def rest(self, name: str) -> list[str]:
        """Every value of a repeatable positional argument."""
        return list(self.parsed.arguments.get(name, ()))
