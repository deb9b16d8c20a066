"""A stand-in for lance: datasets with versions, staged transactions, conflicts, keyed insertion and branches.

Version files, refs, data and deletions are objects of the simulated store, written in the order in which lance writes
them, so that whatever removes or lists them sees what it would see on a disk. What is compared with what when two
transactions meet was measured on lance; `test_conformance` holds both to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from lance.fragment import DataFile, DeletionFile, FragmentMetadata

from omnigraph.storage.lance.rows.row_id_sequence import parse_sequence
from tests.simulation.versions import Committed, Fragment, Version

if TYPE_CHECKING:
    from tests.simulation.process import Process

_MAX_VERSION = (1 << 64) - 1
_ATTEMPTS = 20  # of an insertion by key, when another version has taken its number


class Lost(OSError):
    """No answer came."""


class CommitConflictError(OSError):
    """Another commit came first; the name is the one that lance uses."""


class BaseOperation:
    """What lance calls an operation that Python has no class for."""


class Rewrite:
    """A compaction."""


class Clone:
    """The first version of a ref."""


class SimulatedLance:
    """Lance as one process uses it."""

    def __init__(self, process: Process, uri: str) -> None:
        self.process = process
        self._uri = uri

    def dataset(self, uri: str, version: int | None = None, **_: Any) -> SimulatedDataset:
        """An existing dataset, at its newest version or at an exact one."""
        home = self._home(uri)
        if version is None:
            version = self.newest(home)
            if version is None:
                raise FileNotFoundError(f"Dataset at path {home} was not found")
        return SimulatedDataset(self, home, self.load(home, version))

    def commit(self, target: str | SimulatedDataset, transaction: Any, **_: Any) -> SimulatedDataset:
        """Make a staged transaction the next version, unless it conflicts with one that came first."""
        home = self._home(target) if isinstance(target, str) else target.home
        base = None if isinstance(target, str) else target.at
        operation = transaction.operation
        pending = Committed(
            transaction.uuid,
            transaction.read_version,
            operation,
            dict(transaction.transaction_properties or {}),
            touched=_touched(operation),
        )
        return self._land(home, base, pending, lambda now: self._built(home, now, pending), attempts=1)

    def write_fragments(self, rows: Any, target: str | SimulatedDataset, **options: Any) -> list[FragmentMetadata]:
        """New data files; nothing refers to them yet."""
        home = self._home(target) if isinstance(target, str) else target.home
        table = rows if isinstance(rows, pa.Table) else rows.read_all()
        table = table.cast(options["schema"]).combine_chunks()
        if not table.num_rows:
            return []
        name = f"{self.unique()}.lance"
        self.change(f"put {home}/data/{name}", lambda: self.bucket.put(f"{home}/data/{name}", table))
        fields = list(range(table.num_columns))
        return [FragmentMetadata(0, [DataFile(name, fields, fields, 2, 2)], table.num_rows)]

    # --- requests --------------------------------------------------------------------------------

    @property
    def bucket(self) -> Any:
        return self.process.bucket

    def ask(self, label: str, action: Callable[[], Any]) -> Any:
        return self.process.request(label, action, lost=_lost)

    def change(self, label: str, action: Callable[[], Any]) -> Any:
        return self.process.request(label, action, lost=_lost, changes=True)

    def unique(self) -> str:
        return self.process.host.random_bytes(8).hex()

    def newest(self, home: str) -> int | None:
        found = self.ask(f"list versions of {home}", lambda: existing(self.bucket, home))
        return max(found, default=None)

    def load(self, home: str, version: int) -> Version:
        def look() -> Version | None:
            found = self.bucket.files.get(version_path(home, version))
            return None if found is None else found.value

        found: Version | None = self.ask(f"open {home} at {version}", look)
        if found is None:
            raise FileNotFoundError(f"{version_path(home, version)} was not found")
        return found

    def put_version(self, home: str, version: Version) -> bool:
        """Whether the version got its number; one winner among those who try."""
        path = version_path(home, version.number)
        label = f"commit {home} at {version.number} ({version.transaction.kind} {version.transaction.uuid[-6:]})"
        landed: bool = self.change(label, lambda: self.bucket.put_if_absent(path, version))
        return landed and not self.process.repeats()

    # --- committing ------------------------------------------------------------------------------

    def _land(
        self,
        home: str,
        base: Version | None,
        pending: Committed,
        build: Callable[[Version | None], Version],
        *,
        attempts: int,
    ) -> SimulatedDataset:
        strict = pending.kind == "Overwrite"
        for _ in range(attempts):
            now = base
            if base is not None and not strict:
                now = self._newest_after(home, base, pending)
            elif base is None and self.newest(home) is not None:
                raise CommitConflictError("Commit conflict for version 1: the dataset exists")
            made = build(now)
            if self.put_version(home, made):
                return SimulatedDataset(self, home, made)
        number = (base.number if base is not None else 0) + 1
        raise CommitConflictError(f"Commit conflict for version {number}: Failed to commit the transaction")

    def _newest_after(self, home: str, base: Version, pending: Committed) -> Version:
        """The newest version, once the transaction may pass every one since its base that still exists."""
        versions = self.ask(f"list versions of {home}", lambda: existing(self.bucket, home))
        later = sorted(number for number in versions if number > base.number)
        for number in later:
            other = self.load(home, number)
            refuse_conflict(pending, other.transaction, number)
        return self.load(home, later[-1]) if later else base

    def _built(self, home: str, now: Version | None, pending: Committed) -> Version:
        number = 1 if now is None else now.number + 1
        operation = pending.operation
        if pending.kind == "Restore":
            assert now is not None
            old = self.load(home, operation.version)
            return self.successor(now, pending, old.fragments, schema=old.schema)
        if pending.kind == "Overwrite":
            schema = operation.new_schema
            start = now or Version(0, schema, (), 0, 0, pending, 0.0)
            return self.successor(start, pending, (), operation.fragments, schema=schema, home=home, before=now)
        assert now is not None
        match pending.kind:
            case "Append":
                return self.successor(now, pending, now.fragments, operation.fragments, home=home)
            case "Merge":
                known = {fragment.id: fragment for fragment in now.fragments}
                kept = [known[each.id] for each in operation.fragments if each.id in known]
                fresh = [each for each in operation.fragments if each.id not in known]
                return self.successor(now, pending, kept, fresh, home=home)
            case "Update":
                kept = self._updated(home, now, operation)
                return self.successor(now, pending, kept, operation.new_fragments, home=home)
            case "CreateIndex":
                return self.successor(now, pending, now.fragments)
        raise AssertionError(
            f"the protocol committed {pending.kind} (version {number}), which the simulation does not know"
        )

    def _updated(self, home: str, now: Version, operation: Any) -> list[Fragment]:
        changed = {each.id: each for each in operation.updated_fragments}
        removed = set(operation.removed_fragment_ids)
        kept = []
        for fragment in now.fragments:
            if fragment.id in removed:
                continue
            given = changed.get(fragment.id)
            kept.append(fragment if given is None else self._with_deletions(home, fragment, given))
        return kept

    def _with_deletions(self, home: str, fragment: Fragment, given: FragmentMetadata) -> Fragment:
        file = given.deletion_file
        wanted = None if file is None else (file.read_version, file.id)
        if wanted == fragment.deletion or wanted is None:
            return fragment
        stored = self.bucket.files[deletion_path(home, fragment.id, wanted)]
        return replace(fragment, deleted=stored.value, deletion=wanted, _cache={})

    def successor(
        self,
        now: Version,
        pending: Committed,
        kept: Iterable[Fragment],
        added: Sequence[FragmentMetadata] = (),
        *,
        schema: pa.Schema | None = None,
        home: str = "",
        before: Version | None = None,
    ) -> Version:
        """The next version: fragments that stay, and described ones that get their numbers and row ids now."""
        number, row_id, fragment_id = now.number + 1, now.next_row_id, now.next_fragment_id
        fragments = list(kept)
        created = now.row_versions()
        for each in added:
            taken = _given_ids(each)
            fresh = each.physical_rows - len(taken)
            ids = (*taken, *range(row_id, row_id + fresh))
            row_id += fresh
            fragments.append(
                Fragment(
                    fragment_id,
                    home,
                    str(each.files[0].path),
                    self.bucket.files[f"{home}/data/{each.files[0].path}"].value,
                    ids,
                    tuple(created.get(each, number) for each in ids),
                    (number,) * len(ids),
                )
            )
            fragment_id += 1
        return Version(
            number,
            schema or now.schema,
            tuple(fragments),
            row_id,
            fragment_id,
            pending,
            self.process.world.now,
            before if before is not None else (now if now.number else None),
        )

    def _home(self, uri: str) -> str:
        return uri.removeprefix(f"{self._uri}/")


class SimulatedDataset:
    """A dataset at one version; the members that the storage package uses, with lance's names."""

    def __init__(self, lance: SimulatedLance, home: str, at: Version) -> None:
        self._lance = lance
        self.home = home
        self.at = at
        self._ds = SimpleNamespace(base_paths=dict)
        self.branches = _Branches(lance, home)
        self.optimize = SimpleNamespace(compact_files=self._compact)
        fields = [SimpleNamespace(id=lambda at=at: at) for at in range(len(at.schema))]
        self.lance_schema = SimpleNamespace(fields=lambda: fields)

    @property
    def version(self) -> int:
        return self.at.number

    @property
    def schema(self) -> pa.Schema:
        return self.at.schema

    @property
    def latest_version(self) -> int:
        found = self._lance.newest(self.home)
        if found is None:
            raise FileNotFoundError(f"Dataset at path {self.home} was not found")
        return found

    def session(self) -> None:
        return None

    def get_version(self) -> dict[str, Any]:
        return {"version": self.version, "timestamp": self.at.timestamp}

    def version_refs(self) -> list[dict[str, int]]:
        found = self._lance.ask(f"list versions of {self.home}", lambda: existing(self._lance.bucket, self.home))
        return [{"version": number} for number in sorted(found)]

    def read_transaction(self, version: int) -> Any:
        found = self._lance.load(self.home, version).transaction
        return SimpleNamespace(
            operation=found.operation,
            read_version=found.read_version,
            uuid=found.uuid,
            transaction_properties=found.properties,
        )

    def describe_indices(self) -> list[Any]:
        return []

    # --- rows ------------------------------------------------------------------------------------

    def get_fragments(self) -> list[SimulatedFragment]:
        return [SimulatedFragment(self, fragment) for fragment in self.at.fragments]

    def get_fragment(self, number: int) -> SimulatedFragment | None:
        return next((each for each in self.get_fragments() if each.fragment_id == number), None)

    def fragment_ids(self) -> list[int]:
        return [fragment.id for fragment in self.at.fragments]

    def count_rows(self, filter: str | None = None) -> int:
        return self.at.scan(None, filter).num_rows

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        fragments: Sequence[SimulatedFragment] | None = None,
        **_: Any,
    ) -> Any:
        wanted = None if fragments is None else [each.at for each in fragments]

        def read() -> pa.Table:
            self._require_files(self.at.fragments if wanted is None else wanted)
            return self.at.scan(columns, filter, wanted, limit, offset)

        def to_table() -> pa.Table:
            return self._lance.ask(f"scan {self.home} at {self.version}", read)

        return SimpleNamespace(to_table=to_table, to_batches=lambda: to_table().to_batches())

    def take(self, positions: pa.Array, columns: Sequence[str]) -> pa.Table:
        return self._lance.ask(f"take {self.home} at {self.version}", lambda: self.at.scan(columns, None)).take(
            positions
        )

    def _take_rows(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        listed = ",".join(map(str, row_ids))
        return self.at.scan(columns, f"_rowid IN ({listed})")

    def _require_files(self, fragments: Iterable[Fragment]) -> None:
        for fragment in fragments:
            if fragment.path not in self._lance.bucket.files:
                raise FileNotFoundError(f"{fragment.path} was not found")

    # --- insertion by key ------------------------------------------------------------------------

    def merge_insert(self, key: str) -> _MergeInsert:
        return _MergeInsert(self, key)

    # --- upkeep ----------------------------------------------------------------------------------

    def _compact(self, excluded_fragment_ids: Sequence[int] = ()) -> None:
        runs = _runs_to_compact(self.at, set(excluded_fragment_ids))
        if not runs:
            return
        lance, base = self._lance, self.at
        lance.ask(f"read {self.home} to compact it", lambda: self._require_files(each for run in runs for each in run))
        reserve = Committed(lance.unique(), base.number, BaseOperation(), {})

        def reserved(now: Version | None) -> Version:
            assert now is not None
            made = lance.successor(now, reserve, now.fragments)
            return replace(made, next_fragment_id=made.next_fragment_id + len(runs))

        room = lance._land(self.home, base, reserve, reserved, attempts=_ATTEMPTS).at
        numbers = range(room.next_fragment_id - len(runs), room.next_fragment_id)
        files = [self._rewritten(run, number) for run, number in zip(runs, numbers, strict=True)]
        touched = frozenset(each.id for run in runs for each in run)
        rewrite = Committed(lance.unique(), base.number, Rewrite(), {}, touched=touched)

        def rewritten(now: Version | None) -> Version:
            assert now is not None
            return lance.successor(now, rewrite, _spliced(now.fragments, runs, files))

        self.at = lance._land(self.home, base, rewrite, rewritten, attempts=_ATTEMPTS).at

    def _rewritten(self, run: Sequence[Fragment], number: int) -> Fragment:
        rows = pa.concat_tables([each.shown() for each in run])
        name, bucket = f"{self._lance.unique()}.lance", self._lance.bucket
        table = rows.select(self.schema.names).combine_chunks()
        self._lance.change(f"put {self.home}/data/{name}", lambda: bucket.put(f"{self.home}/data/{name}", table))
        known = (tuple(rows[column].to_pylist()) for column in _KEPT)
        return Fragment(number, self.home, name, table, *known)

    def cleanup_old_versions(self, *, versions: Sequence[int], **_: Any) -> Any:
        """Remove versions, and the files that nothing else shows."""
        bucket = self._lance.bucket
        going = self._lance.ask(f"read {self.home} to clean it", lambda: self._held_only_by(versions))
        for path in going:
            self._lance.change(f"delete {path}", lambda path=path: bucket.remove(path))
        for number in versions:
            path = version_path(self.home, number)
            self._lance.change(f"delete {path}", lambda path=path: bucket.remove(path))
        return SimpleNamespace(failed_deletes=0, old_versions=len(versions), bytes_removed=1_000 * len(going))

    def _held_only_by(self, versions: Sequence[int]) -> list[str]:
        trunk, bucket = self.home.partition("/tree/")[0], self._lance.bucket
        gone = {version_path(self.home, number) for number in versions}
        stored = {path: bucket.files[path].value for path in bucket.below(trunk) if "/_versions/" in path}
        kept = {file for path, each in stored.items() if path not in gone for file in files_of(each)}
        mine = dict.fromkeys(file for path, each in stored.items() if path in gone for file in files_of(each))
        return [file for file in mine if file not in kept and file.startswith(f"{self.home}/")]

    # --- refs ------------------------------------------------------------------------------------

    def create_branch(self, name: str, reference: tuple[str | None, int]) -> None:
        """Fork a ref: its first version comes first, and then the file that makes it exist."""
        source, version = reference
        trunk = self.home.partition("/tree/")[0]
        lance = self._lance
        file = ref_path(trunk, name)
        if lance.ask(f"stat {file}", lambda: file in lance.bucket.files):
            raise OSError(f"Ref conflict error: branch {name} already exists")
        origin = trunk if source is None else f"{trunk}/tree/{source}"
        base = lance.load(origin, version)
        parent = None if source is None else lance.ask(f"read {source}", lambda: _text(lance, ref_path(trunk, source)))
        first = replace(base, transaction=Committed(lance.unique(), version, Clone(), {}), before=base, _cache={})
        home = f"{trunk}/tree/{name}"
        if not lance.put_version(home, first):
            raise OSError(f"Dataset already exists: {home}")
        mapping = [] if parent is None else json.loads(parent)["identifier"]["version_mapping"]
        text = json.dumps(
            {
                "parentBranch": source,
                "parentVersion": version,
                "identifier": {"version_mapping": [*mapping, [version, lance.unique()]]},
                "createAt": int(lance.process.world.now),
                "manifestSize": 1_000,
            }
        )
        lance.change(f"put {file}", lambda: lance.bucket.put(file, text))


class SimulatedFragment:
    """One fragment of an open dataset."""

    def __init__(self, dataset: SimulatedDataset, at: Fragment) -> None:
        self._dataset = dataset
        self.at = at
        self.fragment_id = at.id
        self.physical_rows = at.physical_rows
        self.num_deletions = len(at.deleted)

    @property
    def metadata(self) -> FragmentMetadata:
        return self.at.metadata

    def count_rows(self, filter: str | None = None) -> int:
        return self._dataset.at.scan(None, filter, [self.at]).num_rows

    def delete_rows(self, offsets: Sequence[int]) -> FragmentMetadata | None:
        gone = self.at.deleted | frozenset(int(each) for each in offsets)
        if len(gone) == self.at.physical_rows:
            return None
        lance, home = self._dataset._lance, self._dataset.home
        place = (self._dataset.version, int.from_bytes(lance.process.host.random_bytes(6), "big"))
        path = deletion_path(home, self.at.id, place)
        lance.change(f"put {path}", lambda: lance.bucket.put(path, gone))
        return FragmentMetadata(
            self.at.id, self.at.metadata.files, self.at.physical_rows, DeletionFile(*place, "array", len(gone), None)
        )


class _Branches:
    """The refs of a dataset."""

    def __init__(self, lance: SimulatedLance, home: str) -> None:
        self._lance = lance
        self._trunk = home.partition("/tree/")[0]

    def list(self) -> dict[str, dict[str, Any]]:
        bucket, folder = self._lance.bucket, f"{self._trunk}/_refs/branches"
        texts = self._lance.ask(
            f"list refs of {self._trunk}", lambda: {path: bucket.files[path].value for path in bucket.below(folder)}
        )
        return {_ref_name(path): _described(json.loads(text)) for path, text in texts.items()}


class _MergeInsert:
    """Insertion by key, in one step."""

    def __init__(self, dataset: SimulatedDataset, key: str) -> None:
        self._dataset = dataset
        self._key = key
        self._update = False

    def when_not_matched_insert_all(self) -> _MergeInsert:
        return self

    def when_matched_update_all(self) -> _MergeInsert:
        self._update = True
        return self

    def conflict_retries(self, _count: int) -> _MergeInsert:
        return self

    def use_index(self, _wanted: bool) -> _MergeInsert:
        return self

    def execute(self, rows: pa.Table) -> None:
        dataset, lance, base = self._dataset, self._dataset._lance, self._dataset.at
        lance.ask(f"read {dataset.home} to merge", lambda: dataset._require_files(base.fragments))
        found = _places(base, self._key)
        named = rows[self._key].to_pylist()
        replaced = [at for at, name in enumerate(named) if name in found and self._update]
        fresh = [at for at, name in enumerate(named) if name not in found]
        places = frozenset(found[named[at]] for at in replaced)
        ids = tuple(base_row_id(base, found[named[at]]) for at in replaced)
        order = [*replaced, *fresh]
        name = f"{lance.unique()}.lance"
        if order:
            table = rows.take(pa.array(order, pa.int64())).cast(base.schema).combine_chunks()
            path = f"{dataset.home}/data/{name}"
            lance.change(f"put {path}", lambda: lance.bucket.put(path, table))
        operation = _Update(places, name, ids, len(fresh), dataset.home)
        pending = Committed(
            lance.unique(),
            base.number,
            operation,
            {},
            touched=frozenset(fragment for fragment, _ in places),
            rows=places,
            keys=frozenset(named[at] for at in fresh),
        )

        def build(now: Version | None) -> Version:
            assert now is not None
            return operation.applied(lance, now, pending)

        try:
            dataset.at = lance._land(dataset.home, base, pending, build, attempts=_ATTEMPTS).at
        except CommitConflictError as error:
            raise OSError("Too many concurrent writers. Attempted 0 retries.") from error


class _Update:
    """What an insertion by key does to whatever version it lands on."""

    def __init__(
        self, places: frozenset[tuple[int, int]], name: str, ids: tuple[int, ...], fresh: int, home: str
    ) -> None:
        self.places, self.name, self.ids, self.fresh, self.home = places, name, ids, fresh, home

    def applied(self, lance: SimulatedLance, now: Version, pending: Committed) -> Version:
        kept = []
        for fragment in now.fragments:
            gone = {offset for number, offset in self.places if number == fragment.id}
            if not gone:
                kept.append(fragment)
            elif len(fragment.deleted | gone) < fragment.physical_rows:
                place = (now.number, int.from_bytes(lance.process.host.random_bytes(6), "big"))
                kept.append(fragment.without(sorted(gone), place))
        number = now.number + 1
        rows = (*self.ids, *range(now.next_row_id, now.next_row_id + self.fresh))
        if rows:
            known = now.row_versions()
            stored = lance.bucket.files[f"{self.home}/data/{self.name}"].value
            created = tuple(known.get(row, number) for row in rows)
            made = Fragment(now.next_fragment_id, self.home, self.name, stored, rows, created, (number,) * len(rows))
            kept.append(made)
        made_at = lance.process.world.now
        return Version(
            number,
            now.schema,
            tuple(kept),
            now.next_row_id + self.fresh,
            now.next_fragment_id + bool(rows),
            pending,
            made_at,
            now,
        )


_Update.__name__ = "Update"
_KEPT = ("_rowid", "_row_created_at_version", "_row_last_updated_at_version")


# --- conflicts ---------------------------------------------------------------------------------------

_REPLACES = frozenset({"Overwrite", "Restore"})
_PASSES_ALL = frozenset({"Restore"})


def refuse_conflict(mine: Committed, other: Committed, number: int) -> None:
    """Raise when lance would not let a transaction pass one that came first."""
    if mine.kind in _PASSES_ALL:
        return
    if other.kind in _REPLACES:
        raise CommitConflictError(f"Incompatible transaction: {mine.kind} with concurrent {other.kind} at {number}")
    conflicts = {
        "Append": other.kind == "Merge",
        "Merge": other.kind in ("Append", "Update", "Merge", "Rewrite"),
        "Update": other.kind == "Merge" or (other.kind in ("Update", "Rewrite") and _overlap(mine, other)),
        "Rewrite": other.kind == "Merge" or bool(mine.touched & other.touched),
    }
    if conflicts.get(mine.kind, False):
        raise CommitConflictError(f"Retryable commit conflict for version {number}: preempted by {other.kind}")


def _overlap(mine: Committed, other: Committed) -> bool:
    if mine.keys & other.keys:
        return True
    if mine.rows is not None and other.rows is not None and other.kind == "Update":
        return bool(mine.rows & other.rows)
    return bool(mine.touched & other.touched)


def _touched(operation: Any) -> frozenset[int]:
    updated = getattr(operation, "updated_fragments", None) or ()
    return frozenset(each.id for each in updated) | frozenset(getattr(operation, "removed_fragment_ids", None) or ())


# --- files -------------------------------------------------------------------------------------------


def version_path(home: str, number: int) -> str:
    return f"{home}/_versions/{_MAX_VERSION - number:020d}.manifest"


def version_number(path: str) -> int:
    return _MAX_VERSION - int(path.rpartition("/")[2].removesuffix(".manifest"))


def deletion_path(home: str, fragment: int, place: tuple[int, int]) -> str:
    return f"{home}/_deletions/{fragment}-{place[0]}-{place[1]}.arrow"


def ref_path(trunk: str, name: str) -> str:
    return f"{trunk}/_refs/branches/{name.replace('/', '%2F')}.json"


def existing(bucket: Any, home: str) -> list[int]:
    """The numbers of the versions that are there."""
    return [version_number(path) for path in bucket.below(f"{home}/_versions")]


def files_of(version: Version) -> list[str]:
    """The data files that a version shows."""
    return [fragment.path for fragment in version.fragments]


def _text(lance: SimulatedLance, path: str) -> str:
    found = lance.bucket.files.get(path)
    if found is None:
        raise FileNotFoundError(f"{path} was not found")
    return str(found.value)


def _ref_name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json").replace("%2F", "/")


def _described(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "parent_branch": raw["parentBranch"],
        "parent_version": raw["parentVersion"],
        "branch_identifier": raw["identifier"]["version_mapping"],
        "create_at": raw["createAt"],
    }


def _lost(label: str) -> Lost:
    return Lost(f"{label}: connection reset by peer")


# --- rows --------------------------------------------------------------------------------------------


def _given_ids(fragment: FragmentMetadata) -> tuple[int, ...]:
    """The row ids that a described fragment brings along."""
    if fragment.row_id_meta is None:
        return ()
    content = bytes(fragment.row_id_meta.asdict()["Inline"])
    count = _count(content)
    found = parse_sequence(content, count)
    if isinstance(found, tuple):
        return tuple(number for run in found for number in range(run.first, run.end))
    ordered = np.empty(count, np.int64)
    ordered[found.offsets] = found.ids
    return tuple(int(number) for number in ordered)


def _count(content: bytes) -> int:
    """How many row ids a sequence has: the one number of rows that it is not refused for."""
    try:
        parse_sequence(content, -1)
    except ValueError as error:
        return int(str(error).split()[3])
    raise AssertionError("no sequence has a negative length")


def _places(version: Version, key: str) -> dict[str, tuple[int, int]]:
    """Fragment and offset of every row, by key."""
    found = version._cache.get(key)
    if found is None:
        table = version.table()
        addresses = table["_rowaddr"].to_pylist()
        found = {
            name: (address >> 32, address & 0xFFFFFFFF)
            for name, address in zip(table[key].to_pylist(), addresses, strict=True)
        }
        version._cache[key] = found
    return found


def base_row_id(version: Version, place: tuple[int, int]) -> int:
    """The row id at a place."""
    return next(fragment.row_ids[place[1]] for fragment in version.fragments if fragment.id == place[0])


def _runs_to_compact(version: Version, excluded: set[int]) -> list[list[Fragment]]:
    runs: list[list[Fragment]] = [[]]
    for fragment in version.fragments:
        if fragment.id in excluded:
            runs.append([])
        else:
            runs[-1].append(fragment)
    return [run for run in runs if len(run) > 1 or any(10 * len(each.deleted) > each.physical_rows for each in run)]


def _spliced(
    fragments: Sequence[Fragment], runs: Sequence[Sequence[Fragment]], files: Sequence[Fragment]
) -> list[Fragment]:
    """The fragments with each run replaced, where it began, by what was made of it."""
    made = {run[0].id: file for run, file in zip(runs, files, strict=True)}
    gone = {each.id for run in runs for each in run}
    found = []
    for fragment in fragments:
        if fragment.id in made:
            found.append(made[fragment.id])
        elif fragment.id not in gone:
            found.append(fragment)
    return found


__all__ = ["SimulatedDataset", "SimulatedLance", "existing", "ref_path", "version_number", "version_path"]
