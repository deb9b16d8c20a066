"""What `:help` shows: the commands of the shell and a card of the query language."""

from __future__ import annotations

COMMANDS = """\
A query ends with ; or with an empty line, so order and limit may follow on a line of their own.
  :schema            print the schema
  :describe          types with counts and indexes, branches
  :branch [NAME]     show or change the branch
  :at [WHEN]         read at a commit, a tag, HEAD~1, version:3 or a time; `:at now` ends that
  :params [JSON]     show or set the parameters
  :load FILE [MODE]  load records or a mapping (.yaml): append, merge (usual), overwrite or patch
  :explain [QUERY]   the plan of a query; alone: plans instead of rows, or rows again
  :format [FORMAT]   show or set how rows are printed
  :timing            say how long queries take, or stop saying it
  :help              this text
  :quit              leave (also Ctrl-D)
Tab completes what fits the place; ↑ goes through earlier queries that begin alike, Ctrl-R searches them.
"""

# Each is a query of its own over the schema of CARD_SCHEMA; a test runs the compiler over them.
CARD = (
    ("all of a type", "match { $p: Person } return { $p }"),
    ("a condition", "match { $p: Person $p.age >= 30 } return { $p.name, $p.age }"),
    ("by its values", 'match { $p: Person { name: "Ada" } } return { $p.age }'),
    ("along an edge", "match { $p: Person $p knows $q } return { $p.name, $q.name as friend }"),
    ("several hops", "match { $p: Person $p knows{1,3} $q } return { $q.name }"),
    ("the edge itself", "match { $p: Person $p $e:knows $q } return { $q.name, $e.since }"),
    ("not there", "match { $p: Person not { $p knows $q } } return { $p.name }"),
    ("if there is one", "match { $p: Person optional { $p knows $q } } return { $p.name, $q.name }"),
    ("count and group", "match { $p: Person $p knows $q } return { $p.name, count($q) as friends }"),
    ("order and limit", "match { $p: Person } return { $p.name } order { $p.age desc } limit 5"),
    ("insert", 'insert Person { name: "Ada", age: 36 }'),
    ("update", 'update Person set { age: 37 } where name = "Ada"'),
    ("delete", 'delete Person where name = "Ada"'),
)
CARD_SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }"


def help_text() -> str:
    """The commands, then the card."""
    width = max(len(what) for what, _ in CARD)
    return COMMANDS + "\n" + "".join(f"  {what:{width}}  {query}\n" for what, query in CARD)
