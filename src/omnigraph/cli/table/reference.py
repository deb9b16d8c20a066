"""The command-line reference as Markdown, made from the command table: `python -m omnigraph.cli.table.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from omnigraph.cli.commands import COMMANDS
from omnigraph.cli.table.globals import GLOBAL_OPTIONS
from omnigraph.cli.table.help import LEGEND, argument_help, option_help, usage
from omnigraph.cli.table.model import Command, Option

_HEAD = """\
# Command line

Generated from the command table by `python -m omnigraph.cli.table.reference > docs/cli.md`; a test compares the two.

```sh
omnigraph init --schema schema.pg graph.omni
omnigraph load graph.omni --data people.jsonl --mode append
omnigraph query graph.omni -e 'match { $p: Person } return { $p.name }'
omnigraph query people_named graph.omni --query queries.gq -p name=Ada
omnigraph branch list graph.omni
```

Results go to stdout and nothing else does; notes, warnings, prompts, progress and errors go to stderr. `--json` prints
one JSON document; when a command fails, the last line of stderr is then the failure as JSON too, with `error`, `code`
and its details. Options may stand before or after the command.

A commit is named by its id, by the beginning of its id (six characters or more, in any case, as long as only one commit
of the branch begins like that), by a tag, or by a branch, which means its head; `HEAD` is the head of the command's
branch. `~N` behind any of these goes back so many first parents: `HEAD~1`, `review~3`. `--if-commit` takes whole
ids only.

| Exit code | Means |
|---|---|
| 0 | done |
| 1 | the command failed, or its report holds errors |
| 2 | the arguments make no sense |
| 4 | `mutate --if-commit` found the branch at another commit; nothing was written |
| 130 | interrupted |
| 141 | the reader of the output has gone away |

"""
_CONFIG = """\
## Configuration

`$OMNIGRAPH_HOME/config.yaml`, or `~/.omnigraph/config.yaml`, is read when it exists:

```yaml
operator: {actor: ann}                       # who commits carry unless --as says otherwise
servers: {prod: {url: https://graphs.example.com}}
clusters: {brain: {root: s3://my-bucket/brain}}
profiles:
  local: {store: ./graph.omni}               # exactly one of server, cluster and store
  knowledge: {server: prod, default_graph: knowledge}
aliases:
  who: {server: prod, graph: knowledge, query: find_person, args: [name], params: {limit: 5}, format: kv}
defaults: {output: table, table_max_column_width: 80, table_cell_layout: truncate, store: ./graph.omni}
```

Every command that works on one graph takes it as its last argument or with `--store URI`. (`clone`, `push`, `pull` and
`backup create` name the graph first and the other place last; `import` takes any number of sources, so its graph is
`--into` or `--store`.) Where an optional argument stands before the graph, as in `query [NAME] [URI]`, a single word
is the graph if it is a URI, begins like a path (`./`, `../`, `/`, `~`) or is a directory that contains a graph, and the
name otherwise; with `--store`, `--server`, `--cluster` or `--profile` it is always the name.

A command looks for its graph in this order: a URI, `--store`, `--server` or `--cluster`; then `--profile` or
`$OMNIGRAPH_PROFILE`; then the defaults. Tokens are kept in `credentials` beside the config, readable
by its owner only; `OMNIGRAPH_TOKEN_<SERVER>` comes first, `OMNIGRAPH_BEARER_TOKEN` last. All variables:
[settings](settings.md).

"""


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, _capabilities(), "## Options of every command\n\n", _options(GLOBAL_OPTIONS), _CONFIG]
    parts += ["".join(_command(command)) for command in COMMANDS]
    return "".join(parts).rstrip("\n") + "\n"


def _capabilities() -> str:
    rows = "".join(f"| {name} | {_cell(text)} |\n" for name, text in LEGEND)
    return f"| Capability | Means |\n|---|---|\n{rows}\n"


def _command(command: Command) -> Iterator[str]:
    yield f"## omnigraph {command.name}\n\n{command.summary}.\n\n"
    yield f"```text\n{usage(command.path).removeprefix('Usage: ')}\n```\n\n"
    if command.arguments:
        rows = "".join(f"| `{each.shown}` | {_cell(argument_help(each))} |\n" for each in command.arguments)
        yield f"| Argument | |\n|---|---|\n{rows}\n"
    if command.listed_options:
        yield _options(command.listed_options)
    if command.also is not None:
        yield f"Also: `omnigraph {' '.join((*command.path[:-1], command.also))}`.\n\n"
    if command.notes:
        yield f"{command.notes}\n\n"
    where = ", ".join(f"`{option.name}`" for option in GLOBAL_OPTIONS if option.name in command.accepts)
    yield f"Capability: {command.capability.value}.{f' Takes {where}.' if where else ''}\n\n"


def _options(options: Sequence[Option]) -> str:
    rows = []
    for option in options:
        short = f"`{option.short}`, " if option.short else ""
        needed = " **required**" if option.required else ""
        rows.append(f"| {short}`{_cell(option.shown)}` | {_cell(option_help(option))}{needed} |\n")
    return f"| Option | |\n|---|---|\n{''.join(rows)}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
