"""Nothing that a user can set, call or ask for is undocumented."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.address import config as operator
from omnigraph.cli.commands import COMMANDS
from omnigraph.cli.table.globals import GLOBAL_OPTIONS
from omnigraph.cluster.declaration import config as declared
from omnigraph.server.routes.table import ROUTES
from omnigraph.server.settings import Settings as ServerSettings
from omnigraph.settings import Settings as WriteSettings
from omnigraph.testing.pages.settings_table import SERVER, VARIABLES, WRITE_PROTOCOL

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
SOURCES = [path for path in (REPOSITORY / "src" / "omnigraph").rglob("*.py") if "testing" not in path.parts]
VARIABLE = re.compile(r'"((?:OMNIGRAPH|AWS|AZURE|GOOGLE|OPENAI|OPENROUTER|GEMINI|JAVA|SPARK|XDG|OTEL)_[A-Z0-9_]+)"')
FLAG = re.compile(r'add_argument\("(--[a-z-]+)"')
# Lines that the server prints for whoever started it, a name that continues with a server's, and one that pyspark sets
# for itself, which a failed start puts back.
NOT_READ = {"OMNIGRAPH_LISTEN_ADDR", "OMNIGRAPH_TOKEN_", "SPARK_CONNECT_MODE_ENABLED"}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_variable_that_the_code_reads_has_a_meaning() -> None:
    read = {name for path in SOURCES for name in VARIABLE.findall(path.read_text(encoding="utf-8"))}
    listed = {name for group in VARIABLES.values() for name in group if "<" not in name}
    assert read - NOT_READ - listed == set(), "describe it in omnigraph/testing/pages/settings_table.py"
    assert listed - read == set(), "nothing reads it any more"


def test_every_tunable_number_has_a_meaning() -> None:
    assert set(WRITE_PROTOCOL) == {field.name for field in fields(WriteSettings)}
    assert set(SERVER) == {field.name for field in fields(ServerSettings)}


def test_every_command_and_every_flag_is_in_the_reference() -> None:
    text = page("cli.md")
    for command in COMMANDS:
        start = text.index(f"\n## omnigraph {command.name}\n")
        section = text[start : text.find("\n## ", start + 1)]
        for option in command.options:
            assert (f"`{option.name}" in section) is not option.former, f"{command.name} {option.name}"
    general = text[: text.index("\n## omnigraph ")]
    assert [option.name for option in GLOBAL_OPTIONS if f"`{option.name}" not in general] == []


def test_every_flag_of_the_server_is_described() -> None:
    source = (REPOSITORY / "src" / "omnigraph" / "server" / "main.py").read_text(encoding="utf-8")
    text = page("server.md") + page("clusters.md")
    assert [flag for flag in FLAG.findall(source) if flag not in text] == []


@pytest.mark.parametrize("route", [pytest.param(route, id=f"{route.method} {route.path}") for route in ROUTES])
def test_every_route_is_in_the_table_of_the_server_page(route: Any) -> None:
    wanted = _without_names(route.path.replace("/graphs/{graph_id}", "…"))
    rows = [line for line in page("server.md").splitlines() if line.startswith("| `")]
    found = [row for row in rows if re.search(rf"(?<![\w/}}]){re.escape(wanted)}`", _without_names(row))]
    assert any(route.method in re.findall(r"\b[A-Z]+\b", row) for row in found)


def test_every_key_of_the_operator_config_is_described() -> None:
    text = page("cli.md")
    section = text[text.index("## Configuration") :].partition("\n## omnigraph")[0]
    keys = set(operator._SECTIONS) | {key for names in operator._SECTIONS.values() for key in names or ()}
    keys |= {key for names in operator._ENTRIES.values() for key in names}
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", section)) == []


def test_every_key_of_a_cluster_declaration_is_described() -> None:
    text = page("clusters.md")
    graph = declared.GraphConfig("s", {"q": "f"}, "p", (("b", "s"),))
    bundle = declared.PolicyConfig("f", ("g",))
    full = declared.ClusterConfig(
        1, "n", providers={"p": {}}, graphs={"g": graph}, policies={"b": bundle}, pipelines={"x": {}}
    )
    keys = {*_keys(full.to_json()), *declared._TOP, *declared._PROFILE} - {"q", "p", "g", "b", "x"}
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", text)) == []


def _without_names(text: str) -> str:
    return re.sub(r"\{\w+\}", "{}", text)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
