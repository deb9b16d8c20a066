"""Queries as trees, made without the compiler of the product, and their text in the language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from diff_forms import Form

# --- values and conditions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prop:
    """`$var.name`."""

    var: str
    name: str
    family: str
    stored: str = ""  # what DuckDB stores it as


@dataclass(frozen=True, slots=True)
class Lit:
    """A constant as both languages write it; with a name it is sent as a parameter."""

    family: str
    text: str
    sql: str
    param: str | None = None
    value: object = None
    declared: str = ""
    default: bool = False  # it is the default of its parameter, which is not sent


@dataclass(frozen=True, slots=True)
class Name:
    """What a stage, or a list as rows, gave a name to; `sql` is where DuckDB finds it."""

    name: str
    family: str
    sql: str


@dataclass(frozen=True, slots=True)
class Counted:
    """`count(* match { … })`, a value of each row."""

    clauses: tuple[Clause, ...]
    binds: dict[str, Var] = field(hash=False, default_factory=dict)
    family: str = "int"


@dataclass(frozen=True, slots=True)
class Apply:
    """A form of the table with its arguments."""

    form: Form
    args: tuple[Value, ...]

    @property
    def family(self) -> str:
        return self.form.result


@dataclass(frozen=True, slots=True)
class Bm25:
    """`bm25($var.words, "…")` for one word, as a value or as what rows are ranked by."""

    var: str
    word: str
    family: str = "float"


Value: TypeAlias = Prop | Lit | Apply | Name | Counted | Bm25


@dataclass(frozen=True, slots=True)
class Compare:
    op: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class In:
    value: Value
    items: tuple[Lit, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull:
    value: Value | str  # a name is that of a variable
    negated: bool


@dataclass(frozen=True, slots=True)
class Same:
    left: str
    right: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Either:
    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists { … }`; `binds` are the variables of the pattern itself."""

    clauses: tuple[Clause, ...]
    binds: dict[str, Var] = field(hash=False, default_factory=dict)


Condition: TypeAlias = Compare | In | IsNull | Same | Either | Apply | Exists


# --- clauses ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Var:
    """What a variable ranges over: nodes or edges of some types, a path or paths, items of a list."""

    kind: str
    types: tuple[str, ...] = ()
    interface: str | None = None
    optional: bool = False

    @property
    def united(self) -> bool:
        return self.interface is not None or len(self.types) > 1


@dataclass(frozen=True, slots=True)
class Bind:
    var: str
    what: Var
    inline: tuple[tuple[str, Lit, str], ...] = ()  # property, value, family of the property
    new: bool = True


@dataclass(frozen=True, slots=True)
class Way:
    """One edge type of a step, walked from left to right; `against` its direction if so."""

    edge: str
    start: str
    end: str
    against: bool


@dataclass(frozen=True, slots=True)
class Step:
    left: str
    right: str
    ways: tuple[Way, ...]
    undirected: bool = False
    hops: tuple[int, int | None] | None = None
    edge_var: str | None = None
    path_var: str | None = None
    path: str = "shortest"  # which paths: shortest, all shortest, shortest 2, simple, cheapest, cheapest 2
    least: int | None = None  # of the number `w` of every edge along it
    introduces: tuple[str, ...] = ()  # the ends that nothing else binds

    @property
    def bounds(self) -> tuple[int, int | None]:
        if self.hops is not None:
            return self.hops
        return (1, 1) if self.path_var is None else (1, None)


@dataclass(frozen=True, slots=True)
class Where:
    condition: Condition


@dataclass(frozen=True, slots=True)
class Block:
    """`not { … }` or `optional { … }`; `binds` are its own variables."""

    word: str
    clauses: tuple[Clause, ...]
    binds: dict[str, Var] = field(hash=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """`either { … } or { … }`; each with its own variables, `binds` are those that all of them bind."""

    branches: tuple[Block, ...]
    binds: dict[str, Var] = field(hash=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unwind:
    """`unwind list as name`."""

    items: Value
    name: str


Clause: TypeAlias = Bind | Step | Where | Block | Alternatives | Unwind


# --- results ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole node."""

    var: str


@dataclass(frozen=True, slots=True)
class Record:
    """`{ name: value, … }`, which aggregates collect."""

    members: tuple[tuple[str, Value | Whole], ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    function: str
    arg: Value | Whole | Record | None
    distinct: bool = False
    where: Condition | None = None
    after: str = ""  # what is computed with it
    key: Value | None = None  # what its rows are taken in the order of
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Nearest:
    """`nearest($var.v, […])`, as a value or as what rows are ranked by."""

    var: str
    query: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Window:
    """A value of a row among those of its group, by one key and the order of rows; without a key, of all of the group."""

    function: str
    arg: Value | None
    per: tuple[Value, ...]
    key: Value | None
    descending: bool = False
    distance: int | None = None  # of the row before or after


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    expr: Value | Whole | Aggregate | Nearest | Window | Condition


@dataclass(frozen=True, slots=True)
class Key:
    """What to order by: a value, a column by its name, a node, or a rank."""

    expr: Value | str | Nearest | Whole
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Having:
    column: str
    text: str
    sql: str


@dataclass(frozen=True, slots=True)
class Query:
    clauses: tuple[Clause, ...]
    variables: dict[str, Var] = field(hash=False)
    columns: tuple[Column, ...] = ()
    distinct: bool = False
    having: tuple[Having, ...] = ()
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int | None = None
    per: tuple[Value | Whole | str, ...] = ()  # limits are of each group
    first: Query | None = None  # the stage before, whose nodes and named values this one goes on from
    staged: bool = False  # it is such a stage

    @property
    def grouped(self) -> bool:
        return any(isinstance(column.expr, Aggregate) for column in self.columns)


@dataclass(frozen=True, slots=True)
class Union:
    """Reads with the same columns, and what holds for all of their rows."""

    parts: tuple[Query, ...]
    every: bool
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.parts[0].columns

    @property
    def variables(self) -> dict[str, Var]:
        return self.parts[0].variables


# --- text ---------------------------------------------------------------------------------------------


def to_text(query: Query | Union) -> tuple[str, dict[str, object]]:
    """The query in the language, and its parameters."""
    params: dict[str, Lit] = {}
    if isinstance(query, Union):
        text = (" union all " if query.every else " union ").join(_part(part, params) for part in query.parts)
    else:
        text = _part(query, params)
    text += _limits(query, params)
    declared = ", ".join(
        f"${name}: {lit.declared}{f' = {lit.text}' if lit.default else ''}" for name, lit in params.items()
    )
    return f"query q({declared}) {{ {text} }}", {name: lit.value for name, lit in params.items() if not lit.default}


def _limits(query: Query | Union, params: dict[str, Lit]) -> str:
    text = f" order {{ {', '.join(_key(key, params) for key in query.order)} }}" if query.order else ""
    text += "" if query.limit is None else f" limit {query.limit}"
    if isinstance(query, Query) and query.per:
        text += f" per {', '.join(each if isinstance(each, str) else _column(each, params) for each in query.per)}"
    return text + ("" if query.offset is None else f" offset {query.offset}")


def _part(query: Query, params: dict[str, Lit], word: str = "return") -> str:
    text = "" if query.first is None else _part(query.first, params, "with") + _limits(query.first, params) + " "
    if query.clauses:
        text += f"match {{ {' '.join(_clause(clause, params) for clause in query.clauses)} }} "
    items = ", ".join(
        f"${column.expr.var}"
        if word == "with" and isinstance(column.expr, Whole)
        else f"{_column(column.expr, params)} as {column.name}"
        for column in query.columns
    )
    text += f"{word} {'distinct ' if query.distinct else ''}{{ {items} }}"
    if query.having:
        text += f" having {{ {' '.join(f'{each.column} {each.text}' for each in query.having)} }}"
    return text


def _clause(clause: Clause, params: dict[str, Lit]) -> str:
    match clause:
        case Bind(var, what, inline):
            matches = ", ".join(f"{name}: {_value(lit, params)}" for name, lit, _ in inline)
            return f"${var}: {what.interface or '|'.join(what.types)}" + (f" {{ {matches} }}" if inline else "")
        case Step():
            return _step(clause)
        case Where(condition):
            text = _condition(condition, params)
            return f"({text})" if text.startswith("-") else text  # a minus would go on with the clause before it
        case Block(word, clauses):
            return f"{word} {{ {' '.join(_clause(each, params) for each in clauses)} }}"
        case Unwind(items, name):
            return f"unwind {_value(items, params)} as {name}"
        case Alternatives(branches):
            return "either" + " or".join(_clause(each, params) for each in branches)


def _step(step: Step) -> str:
    name = "|".join(dict.fromkeys(way.edge[0].lower() + way.edge[1:] for way in step.ways))
    name = f"<{name}>" if step.undirected else name
    if step.hops is not None:
        low, high = step.hops
        name += f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    edge = "" if step.edge_var is None else f"${step.edge_var}:"
    path = "" if step.path_var is None else f"{step.path} ${step.path_var}: "
    text = f"{path}${_shown(step.left)} {edge}{name} ${_shown(step.right)}"
    costs = step.path.startswith("cheapest")
    if step.least is None and not costs:
        return text
    cost = " by abs($step.w) + 1" if costs else ""
    return f"{text} along $step{cost}" + ("" if step.least is None else f" {{ $step.w >= {step.least} }}")


def _shown(var: str) -> str:
    return "_" if var.startswith("hidden") else var


def _condition(condition: Condition, params: dict[str, Lit]) -> str:
    match condition:
        case Compare(op, left, right):
            return f"{_value(left, params)} {op} {_value(right, params)}"
        case In(value, items, negated):
            listed = ", ".join(_value(item, params) for item in items)
            return f"{_value(value, params)} {'not in' if negated else 'in'} [{listed}]"
        case IsNull(value, negated):
            shown = f"${value}" if isinstance(value, str) else _value(value, params)
            return f"{shown} is {'not null' if negated else 'null'}"
        case Same(left, right, negated):
            return f"${left} {'!=' if negated else '='} ${right}"
        case Either(word, parts):
            return "(" + f" {word} ".join(_condition(part, params) for part in parts) + ")"
        case Apply():
            return _value(condition, params)
        case Exists(clauses):
            return f"exists {{ {' '.join(_clause(each, params) for each in clauses)} }}"


def _value(value: Value, params: dict[str, Lit]) -> str:
    match value:
        case Prop(var, name):
            return f"${var}.{name}"
        case Name(name):
            return name
        case Counted(clauses):
            return f"count(* match {{ {' '.join(_clause(each, params) for each in clauses)} }})"
        case Bm25(var, word):
            return f'bm25(${var}.words, "{word}")'
        case Lit(param=str() as name):
            params[name] = value
            return f"${name}"
        case Lit(text=text):
            return text
        case Apply(form, args):
            return form.text.format(*(_value(arg, params) for arg in args))


def _column(expr: Value | Whole | Record | Aggregate | Nearest | Window | Condition, params: dict[str, Lit]) -> str:
    match expr:
        case Window(function, arg, per, key, descending, distance):
            value = "" if arg is None else _value(arg, params)
            value += "" if distance is None else f", {distance}"
            star = "" if function in ("row_number", "rank", "dense_rank", "lag", "lead") else " per *"
            groups = f" per {', '.join(_value(each, params) for each in per)}" if per else star
            return f"{function}({value}{groups}{_ordered(key, params, descending=descending)})"
        case Record(members):
            return f"{{ {', '.join(f'{name}: {_column(value, params)}' for name, value in members)} }}"
        case Whole(var):
            return f"${var}"
        case Nearest():
            return _nearest(expr)
        case Aggregate(function, arg, distinct, where, after, key, descending):
            inside = ("distinct " if distinct else "") + ("*" if arg is None else _column(arg, params))
            inside += ", 0.25" if function == "percentile" else ""
            inside += "" if where is None else f" where {_condition(where, params)}"
            return f"{function}({inside}{_ordered(key, params, descending=descending)}){after}"
        case Compare() | In() | IsNull() | Same() | Either() | Exists():
            return _condition(expr, params)
        case _:
            return _value(expr, params)


def _ordered(key: Value | None, params: dict[str, Lit], *, descending: bool) -> str:
    return "" if key is None else f" order {_value(key, params)}{' desc' if descending else ''}"


def _key(key: Key, params: dict[str, Lit]) -> str:
    match key.expr:
        case str() as name:
            shown = name
        case Nearest() as rank:
            return _nearest(rank)
        case Bm25() as rank:
            return _value(rank, params)
        case value:
            shown = _column(value, params)
    return f"{shown} desc" if key.descending else shown


def _nearest(rank: Nearest) -> str:
    return f"nearest(${rank.var}.v, [{rank.query[0]}, {rank.query[1]}])"
