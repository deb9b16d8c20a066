"""References: columns whose values are mostly keys of another input, or of their own, found by what they contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import counted
from omnigraph.pipeline.formats.inference.inputs import InputTable
from omnigraph.pipeline.formats.inference.keys import (
    chosen_key,
    composite_key,
    distinct_columns,
    key_like,
    may_be_key,
    spelled,
    texts,
)

TAIL_ENDS = ("from", "src", "source", "start", "tail", "a", "subject", "parent")
HEAD_ENDS = ("to", "dst", "target", "end", "head", "b", "object", "child")
_TAILS = ("_id", "_key", "_code", "_ref", "_uuid", "_no", "_nr", "_number", "id")
# The share of rows that must be keys: less is asked of a column that is called after the other input or its key.
_NAMED, _MOSTLY, _NEARLY = 0.5, 0.8, 0.95
_SHOWN = 4
# What a column is called that refers to another row of its own input.
_RELATIVES = (
    "boss",
    "manager",
    "supervisor",
    "chief",
    "lead",
    "mentor",
    "reports_to",
    "referrer",
    "predecessor",
    "vorgesetzter",
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A column, or several together, that hold the key of an input, and how well they do."""

    columns: tuple[str, ...]
    target: InputTable
    rows: int
    known: int  # rows that have a value
    found: int  # rows whose value is a key
    missing: tuple[str, ...] = ()  # some values that are not
    missing_values: int = 0
    why: str = ""

    @property
    def share(self) -> float:
        return self.found / self.known if self.known else 0.0

    @property
    def whole(self) -> bool:
        return self.found == self.known

    def told(self) -> str:
        """The evidence in words."""
        percent = "all" if self.whole else f"{100 * self.share:.1f} %"
        text = f"{percent} of {' and '.join(self.columns)} are keys of {self.target.type}"
        if self.whole:
            return text
        more = ", …" if self.missing_values > len(self.missing) else ""
        values = counted(self.missing_values, "value", grouped=True)
        skipped = f"{counted(self.known - self.found, 'row', grouped=True)} would be skipped"
        return f"{text}; {values}, {skipped}: {', '.join(self.missing)}{more}"


@dataclass(slots=True)
class Found:
    """What is known about one input: its key, what it refers to, and whether its rows are edges."""

    table: InputTable
    key: tuple[str, ...] = ()
    references: dict[str, Reference] = field(default_factory=dict)
    is_edge: bool = False
    why: str = ""
    considered: list[str] = field(default_factory=list)
    by_line: bool = False  # nothing names its rows, but their places do
    composites: list[Reference] = field(default_factory=list)  # references of several columns

    @property
    def name(self) -> str:
        return self.table.name


def find_relations(tables: Sequence[InputTable]) -> list[Found]:
    """Keys first, then references to them, then which inputs only link others."""
    from omnigraph.pipeline.formats.inference.composites import find_composites

    distinct = {table: distinct_columns(table) for table in tables}
    found = {table: Found(table) for table in tables}
    links = _links(tables, distinct)
    for table in tables:
        referred = {column: _count_referring(table, column, tables, distinct) for column in distinct[table]}
        key = None if table in links else chosen_key(table, distinct[table], referred)
        found[table].key = (key,) if key is not None else _declared(table)
    for table in tables:
        targets = [other for other in tables if other not in links and len(found[other].key) == 1]
        found[table].references = _references(found[table], targets, found)
    find_composites(found)
    for each in found.values():
        _decide(each, found)
    for each in found.values():
        _name_rows(each)
    return list(found.values())


def base_of(column: str) -> str:
    """What a column is about: `boss_id` is about a boss, `from_person` is where something comes from."""
    lower = spelled(column)
    for tail in _TAILS:
        if lower.endswith(tail) and len(lower) > len(tail):
            return lower[: -len(tail)].rstrip("_")
    head, _, tail = lower.partition("_")
    return head if tail and head in (*TAIL_ENDS, *HEAD_ENDS) else lower


def ends_of(found: Found) -> tuple[str, str]:
    """Which reference is the source of an edge and which the target: by name, else in column order."""
    columns = list(found.references)
    tail = next((column for column in columns if base_of(column) in TAIL_ENDS), None)
    head = next((column for column in columns if base_of(column) in HEAD_ENDS and column != tail), None)
    tail = tail or next(column for column in columns if column != head)
    return tail, head or next(column for column in columns if column != tail)


def _declared(table: InputTable) -> tuple[str, ...]:
    """The key of several columns that a database declares."""
    return table.declared_key if len(table.declared_key) > 1 else ()


# --- containment -----------------------------------------------------------------------------------


def _reference(table: InputTable, column: str, target: InputTable, key: str, why: str = "") -> Reference:
    values, keys = texts(table.columns[column]), pc.unique(texts(target.columns[key]))
    known = values.drop_null()
    held = pc.is_in(known, value_set=keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys)
    count = pc.sum(held).as_py() or 0
    if count == len(known):
        return Reference((column,), target, len(values), len(known), count, why=why)
    absent = known.filter(pc.invert(held))
    counted = absent.value_counts().sort(by="counts", order="descending")
    shown = tuple(counted.field("values").slice(0, _SHOWN).to_pylist())
    return Reference((column,), target, len(values), len(known), count, shown, len(counted), why)


def _plausible(table: InputTable, column: str, target: InputTable, key: str) -> Reference | None:
    """The reference of a column to a key, if what it contains and what it is called make it one."""
    if (table is target and column == key) or not _same_kind(table, column, target, key):
        return None
    known = pc.unique(texts(table.columns[column])).drop_null()
    if not len(known):
        return None
    called = called_like(column, target, key) or (table is target and base_of(column) in _RELATIVES)
    # A few values decide at once for most pairs of columns.
    if not pc.any(pc.is_in(known, value_set=pc.unique(texts(target.columns[key])))).as_py():
        return None
    found = _reference(table, column, target, key, "called like it" if called else "by its values")
    if called:
        least = _NAMED if named_after(column, target, key) else _NEARLY
        if found.share >= least:
            return found
    if not _by_content(table, column, target, key):
        return None
    return found if found.share >= _MOSTLY else None


def _same_kind(table: InputTable, column: str, target: InputTable, key: str) -> bool:
    kind, other = table.kinds[column], target.kinds[key]
    return key_like(kind) and key_like(other) and (kind.scalar == "String") == (other.scalar == "String")


def _by_content(table: InputTable, column: str, target: InputTable, key: str) -> bool:
    """Whether values alone prove a reference: texts do, numbers only where they are not the small ones of anything."""
    if table.kinds[column].scalar == "String":
        return True
    smallest = pc.min(target.columns[key]).as_py()
    distinct = pc.count_distinct(table.columns[column].drop_null()).as_py()
    return smallest is not None and abs(smallest) > 1000 and distinct >= min(5, target.rows)


def called_like(column: str, target: InputTable, key: str) -> bool:
    """Whether a column is called like a reference to anything, or to this input."""
    if named_after(column, target, key) or base_of(column) in (*TAIL_ENDS, *HEAD_ENDS):
        return True
    if _inflected(base_of(column), spelled(target.name)):
        return True
    # manager_id, boss_login: any word before the name of the other's key.
    return spelled(column).endswith((f"_{spelled(key)}", "_id", "_key", "_ref", "_uuid"))


def named_after(column: str, target: InputTable, key: str) -> bool:
    """Whether a column is called after an input or after its key."""
    plain = spelled(key)
    if spelled(column) == plain and plain not in ("id", "name", "key", "code", "year"):
        return True
    return base_of(column) in (target.type.lower(), spelled(target.name))


def _inflected(one: str, many: str) -> bool:
    """Whether a name is another one with an ending, as plurals of many languages are: kunde, kunden."""
    return len(one) > 3 and many.startswith(one) and len(many) - len(one) <= 2


def _count_referring(
    table: InputTable, column: str, tables: Sequence[InputTable], distinct: dict[InputTable, list[str]]
) -> int:
    """How many columns of all inputs refer to this one."""
    count = 0
    for other in tables:
        for each in other.kinds:
            mutual = other is not table and each in distinct[other] and not called_like(each, table, column)
            if not mutual and _plausible(other, each, table, column) is not None:
                count += 1
    return count


# --- which columns refer ---------------------------------------------------------------------------


def _references(mine: Found, targets: Sequence[InputTable], found: dict[InputTable, Found]) -> dict[str, Reference]:
    table = mine.table
    result = {reference.columns[0]: reference for reference in _declared_references(table, targets, found)}
    for column in table.kinds:
        if column in result:
            continue
        fitting = []
        for target in _owners(column, table, targets) if (column,) == mine.key else targets:
            (key,) = found[target].key
            reference = _plausible(table, column, target, key)
            if reference is not None:
                fitting.append(reference)
                mine.considered.append(f"{column}: {reference.told()}")
        if fitting:
            result[column] = max(fitting, key=lambda each: _preference(column, each, found[each.target].key[0]))
    return {column: result[column] for column in table.kinds if column in result}


def _owners(key: str, table: InputTable, targets: Sequence[InputTable]) -> list[InputTable]:
    """The inputs that a key is called after, where that is not its own: each passport belongs to its `person_id`."""
    about = base_of(key)
    if about in (table.type.lower(), spelled(table.name)):
        return []
    return [target for target in targets if about in (target.type.lower(), spelled(target.name))]


def _preference(column: str, reference: Reference, key: str) -> tuple[bool, bool, float, int]:
    return (
        named_after(column, reference.target, key),
        reference.why == "called like it",
        reference.share,
        -reference.target.rows,
    )


def _declared_references(
    table: InputTable, targets: Sequence[InputTable], found: dict[InputTable, Found]
) -> Iterator[Reference]:
    """What a database declares, as far as keys of one column go."""
    for each in table.declared_references:
        target = next((other for other in targets if other.table == each.table), None)
        fits = target is not None and len(each.columns) == 1 and found[target].key == each.targets
        if target is not None and fits and each.columns[0] in table.kinds:
            yield _reference(table, each.columns[0], target, found[target].key[0], "declared as a foreign key")


# --- links -----------------------------------------------------------------------------------------


def _links(tables: Sequence[InputTable], distinct: dict[InputTable, list[str]]) -> set[InputTable]:
    """Inputs whose rows only link others: two columns or more hold keys of others, and nothing else names the rows."""
    return {table for table in tables if _only_links(table, tables, distinct)}


def _only_links(table: InputTable, tables: Sequence[InputTable], distinct: dict[InputTable, list[str]]) -> bool:
    ends: dict[str, tuple[InputTable, str]] = {}
    for column in table.kinds:
        for other in tables:
            key = chosen_key(other, distinct[other], {}) if other is not table else None
            fits = key is not None and _plausible(table, column, other, key)
            if fits and key is not None and not (_is_plain_id(column) and column in distinct[table]):
                ends.setdefault(column, (other, key))
    if len(ends) < 2:
        return False
    own = [column for column in distinct[table] if may_be_key(table, column) and column not in ends]
    if own:
        return False
    keys = [column for column in distinct[table] if column in ends]
    # A key that is called like the other's own key makes these rows the same things, told more about.
    return all(spelled(column) != spelled(ends[column][1]) for column in keys)


def _is_plain_id(column: str) -> bool:
    return spelled(column) in ("id", "uuid", "guid", "row", "index")


def _decide(mine: Found, found: dict[InputTable, Found]) -> None:
    """Whether the rows of an input are edges, and why."""
    table, references = mine.table, mine.references
    others = {each.target for each in references.values()}
    referred = any(
        table is each.target
        for other in found.values()
        if other is not mine
        for each in (*other.references.values(), *other.composites)
    )
    if len(references) < 2 or referred:
        mine.why = "others refer to it" if referred else counted(table.rows, "row", grouped=True)
        return
    bases = {base_of(column) for column in references}
    directed = bool(bases & set(TAIL_ENDS)) and bool(bases & set(HEAD_ENDS))
    own = [column for column in mine.key if column not in references]
    if not own and len(references) == 2:
        mine.is_edge, mine.why = True, "its rows link two things and have no name of their own"
    elif own and _is_plain_id(own[0]) and len(references) == 2:
        linking = table not in others and 2 * len(references) >= len(table.columns) - 1
        mine.is_edge = linking or directed
        mine.why = (
            "beside a plain id its rows hold little but two references" if mine.is_edge else "it has ids of its own"
        )
    elif len(references) > 2:
        mine.why = f"it has {len(references)} references, and an edge has two ends"
    else:
        mine.why = f"{', '.join(own)} names its rows"


def _name_rows(mine: Found) -> None:
    """A key of several columns where edges need one."""
    together = [column for reference in mine.composites for column in reference.columns]
    if mine.is_edge or mine.key or not (mine.references or together):
        return
    mine.key = composite_key(mine.table, (*mine.references, *together))
    mine.by_line = not mine.key
