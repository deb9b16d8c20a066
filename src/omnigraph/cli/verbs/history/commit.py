"""`commit list` and `commit show`."""

from __future__ import annotations

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.history import history_options
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import commit_line, commit_text


def list_commits(call: Call) -> None:
    """The history of a branch, newest first."""
    with read_target(call).reader() as graph:
        commits = graph.commits.list(call.value("--branch"), **history_options(call))
    if call.json:
        output.document({"commits": [commit.document() for commit in commits]})
    else:
        output.write("".join(f"{commit_line(commit)}\n" for commit in commits))


def show(call: Call) -> None:
    """One commit."""
    with read_target(call).reader() as graph:
        commit = graph.commits.show(call.required("COMMIT_ID"))
    if call.json:
        output.document(commit.document())
    else:
        output.write("".join(f"{text}\n" for text in commit_text(commit)))
