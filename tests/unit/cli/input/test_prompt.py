"""The prompt of the shell, with keys as a terminal sends them."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from omnigraph.cli.input.prompt import _toolkit_reader

CTRL_R = "\x12"


def test_enter_takes_over_what_a_search_of_the_history_found(tmp_path: Path) -> None:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        read = _toolkit_reader(tmp_path, lambda _: ("", []))
        for entry in ("match { $p: Person } return { $p } limit 1;", "match { $p: Person } return { $p.name };"):
            keys.send_text(f"{entry}\r")
            assert read("main> ") == entry
        keys.send_text(f"{CTRL_R}limit\r\r")
        assert read("main> ") == "match { $p: Person } return { $p } limit 1;"
