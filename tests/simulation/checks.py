"""Invariants of the commit protocol, checked whenever a version of a manifest is stored, and once more at the end.

The checker sees everything and asks nothing: it looks at what is stored, not through the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.storage.base.layout import MANIFEST, RECOVERY_DIR
from omnigraph.storage.base.ref_names import epoch_of, renames_parent
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from tests.simulation.lance import existing, version_number, version_path
from tests.simulation.objects import Bucket
from tests.simulation.versions import Version
from tests.simulation.world import World
from tests.simulation.writes import EMPTY, Content, Write, as_rows

Row = Mapping[str, Any]
View = Mapping[str, Row]
"""The rows of a manifest version by object id."""

_IN_PLACE = frozenset({"graph_head", "graph_control", "graph_branch", "graph_schema"})
_KEPT = frozenset({"Rewrite", "BaseOperation", "CreateIndex", "Merge", "Clone"})


class Checker:
    """What has been published so far, and what every new version must not contradict."""

    def __init__(self, world: World, bucket: Bucket, *, exact_clocks: bool) -> None:
        self._world = world
        self._exact_clocks = exact_clocks
        self._bucket = bucket
        self.writes: dict[str, Write] = {}
        self.contents: dict[str, Content] = {}  # by commit
        self.astray: set[str] = set()  # commits stored where nobody reads
        self.replays: dict[str | None, Write] = {}  # of a clone of this graph, by the commit that they belong on
        self.tagged: dict[str, str] = {}  # version files that tags show, with the name of one
        self.epochs: dict[str, int] = {}  # of graph control, by the operation that holds it
        bucket.on_put = self._stored
        bucket.on_remove = self._removed

    # --- while it runs ---------------------------------------------------------------------------

    def _stored(self, name: str, value: Any) -> None:
        if not (isinstance(value, Version) and name.startswith(f"{MANIFEST}/")):
            return
        home = name.partition("/_versions/")[0]
        newer = [number for number in existing(self._bucket, home) if number > value.number]
        orphaned = value.transaction.kind == "Update" and len(existing(self._bucket, home)) == 1
        if newer or orphaned:
            # A commit that slept while what it was based on was trimmed: it is never read, and must not be believed.
            self._world.counts["commits astray"] += 1
            added = self._added(value) if value.transaction.kind == "Update" else {}
            self.astray.update(key for key, row in added.items() if row["object_type"] == "graph_commit")
            return
        self._check(home, value)

    def _removed(self, name: str, value: Any) -> None:
        if name in self.tagged:
            self._broken(f"{name} was removed, although tag '{self.tagged[name]}' shows it")
        if not (isinstance(value, Version) and name.startswith(f"{MANIFEST}/_versions/")):
            return
        left = existing(self._bucket, MANIFEST)
        if left and version_number(name) > max(left):
            self._broken(f"the newest version {version_number(name)} of the manifest was removed")

    def _check(self, home: str, version: Version) -> None:
        before = version.before
        if before is None or version.transaction.kind == "Clone":
            version._cache["head"] = self._head_of(before, version)
            version._cache["content"] = EMPTY if before is None else before._cache["content"]
            return
        if before.number != version.number - 1:
            self._broken(f"{home} {version.number} is built on {before.number}")
        if "content" not in before._cache:
            self._broken(f"{home} {version.number} is built on a version that was never on its line")
        version._cache["head"], version._cache["content"] = before._cache["head"], before._cache["content"]
        if version.transaction.kind in _KEPT:
            if view_of(version) != view_of(before):
                self._broken(f"{home} {version.number} ({version.transaction.kind}) changes rows")
            return
        self._check_update(home, version, before)

    def _check_update(self, home: str, version: Version, before: Version) -> None:
        old, added = view_of(before), self._added(version)
        gone = self._gone(version, before)
        for key, row in added.items():
            known = old.get(key)
            if known is not None and key not in gone:
                self._broken(f"{home} {version.number} holds '{key}' twice")
            if known is not None and row["object_type"] not in _IN_PLACE:
                was, now = known["object_type"], row["object_type"]
                self._broken(f"'{key}' was decided twice: {was} at first, then {now}")
            if row["object_type"] == "operation_abort" and _metadata(row)["aborted_by"] == "recovery":
                self._check_abort(key)
            if row["object_type"] == "graph_schema" and known != row:
                self._check_schema(old, added)
            if row["object_type"] == "graph_control" and (holder := _metadata(row).get("holder")) is not None:
                self.epochs[holder["operation_id"]] = _metadata(row)["epoch"]
            if row["object_type"] == "graph_branch" and known is not None and "sealed" not in _metadata(known):
                self._check_seal(home, before, _metadata(row).get("sealed"))
        for key in gone - added.keys():
            self._broken(f"{home} {version.number} lost '{key}'")
        commits = [row for row in added.values() if row["object_type"] == "graph_commit"]
        head = next((row for row in added.values() if row["object_type"] == "graph_head"), None)
        if commits:
            self._check_commits(home, version, before, commits, head)
        elif head is not None and _metadata(head)["head_commit_id"] != before._cache["head"]:
            self._broken(f"{home} {version.number} moves the head without a commit")

    def _check_abort(self, operation_id: str) -> None:
        """A recovery gives up what nobody works on: by what it has read, its writer was dead or its lease over."""
        task = self._world.running
        found = None if task is None else self._world.read.get((task.name, f"{RECOVERY_DIR}/{operation_id}.json"))
        if found is None or found.text is None or not self._exact_clocks or self._world.late:
            return
        lease = json.loads(found.text)["lease"]
        if lease["owner"] == found.owner or lease["owner"] not in self._world.living:
            return
        if found.at - lease["heartbeat_at"] / 1e6 < lease["ttl_ms"] / 1e3:
            self._broken(f"{operation_id} was given up although its writer is alive and holds its lease")

    def _check_schema(self, before: View, added: View) -> None:
        """A schema changes with the commit of the operation that holds graph control."""
        control = next((row for row in before.values() if row["object_type"] == "graph_control"), None)
        holder = None if control is None else _metadata(control).get("holder")
        if holder is None or holder["operation_id"] not in added:
            self._broken(f"the schema was changed while control was held by {holder}")

    def _check_seal(self, home: str, before: Version, seal: Mapping[str, Any] | None) -> None:
        """A rename closes the former name only while the new branch shows everything that was published there."""
        folder, epoch = f"{MANIFEST}/_refs/branches", None if seal is None else self.epochs.get(seal["operation_id"])
        for path in self._bucket.below(folder):
            name = path.removeprefix(f"{folder}/").removesuffix(".json").replace("%2F", "/")
            if not renames_parent(name) or epoch_of(name) != epoch:
                continue
            described, forked = json.loads(self._bucket.files[path].value), before
            if described["parentBranch"] != home.partition("/tree/")[2]:
                self._broken(f"{home} is sealed by a rename of {described['parentBranch']}")
            while forked.number > described["parentVersion"] and forked.before is not None:
                forked = forked.before
            if forked._cache["head"] != before._cache["head"] or forked._cache["content"] != before._cache["content"]:
                self._broken(f"{home} was renamed to {name}, which lacks what was published last")
            self._world.counts["branches renamed"] += 1

    def tag(self, name: str, manifest_version: int) -> None:
        """A client was told that a tag keeps a version of main."""
        version = self.newest(MANIFEST)
        while version is not None and version.number > manifest_version:  # its own file may be trimmed by now
            version = version.before
        assert version is not None
        assert version.number == manifest_version
        view = view_of(version)
        places = {row["table_key"]: row["location"] for row in view.values() if row["object_type"] == "table"}
        for key, pin in pins_of(view).items():
            ref = pin["table_branch"]
            home = places[key] if ref is None else f"{places[key]}/tree/{ref}"
            self.tagged[version_path(home, pin["table_version"])] = name

    def _check_commits(
        self, home: str, version: Version, before: Version, commits: list[Row], head: Row | None
    ) -> None:
        """The commits of one version: each follows the one before it, and shows what its own write makes of it."""
        ordered = sorted(commits, key=lambda row: (_metadata(row)["created_at"], row["object_id"]))
        last, content, pins = before._cache["head"], before._cache["content"], pins_of(view_of(before))
        for later, row in zip(range(len(ordered) - 1, -1, -1), ordered, strict=True):
            commit_id, described = row["object_id"], _metadata(row)
            if described.get("parent_commit_id") != last:
                self._broken(
                    f"commit {commit_id} has the parent {described.get('parent_commit_id')}, the head was {last}"
                )
            within = described.get("within", {"later": 0, "shown": {}})
            if within["later"] != later:
                self._broken(f"commit {commit_id} says that {within['later']} follow it, and {later} do")
            actor, expected = described.get("actor_id"), content
            if actor != RECOVERY_ACTOR:
                inherited = frozenset(key for key, pin in pins.items() if pin["table_branch"] is None)
                expected = self._expected(actor, commit_id, described, content, inherited)
            pins = {**pins_of(view_of(version)), **{key: _shown(pin) for key, pin in within["shown"].items()}}
            content = self._content(view_of(version), pins)
            if content != expected:
                self._broken(f"commit {commit_id} of {actor}: {_difference(expected, content)}")
            last = commit_id
            self.contents[commit_id] = content
            self._world.counts["commits"] += 1
            self._world.counts["commits published with others"] += len(ordered) > 1
            self._world.note(f"PUBLISHED {commit_id[-8:]} of {actor} at {home} {version.number}")
        if head is None or _metadata(head)["head_commit_id"] != last:
            self._broken(f"commit {last} is not the head after it was published")
        version._cache["head"], version._cache["content"] = last, content

    def _expected(
        self, actor: str, commit_id: str, described: Mapping[str, Any], content: Content, inherited: frozenset[str]
    ) -> Content:
        write = self.writes[actor]
        if write.commit_id is not None:
            self._broken(f"{actor} was published twice: {write.commit_id} and {commit_id}")
        write.commit_id = commit_id
        if write.outcome == "refused" and not write.is_private:
            self._broken(f"{actor} was reported as failed, and published afterwards as {commit_id}")
        merged = described.get("merged_parent_commit_id")
        return write.applied(content, None if merged is None else self.contents.get(merged), inherited)

    def acknowledged(self, write: Write, commit_id: str) -> None:
        """A client was told that its write is durable."""
        if write.is_private and commit_id in self.astray:
            return  # others have given the transaction up meanwhile; it fails as a whole when it is merged
        if write.commit_id != commit_id:  # a recovery may have published what its writer stored astray
            self._broken(f"{write.name} was acknowledged as {commit_id}, which was never published")
        write.outcome = "acknowledged"

    def refused(self, write: Write) -> None:
        """A client was told that its write has failed."""
        if write.of_clone is not None:
            return  # the commit of a clone may be replayed by others, now or later
        if write.commit_id is not None and not write.is_private:
            self._broken(f"{write.name} was reported as failed, but is published as {write.commit_id}")
        write.outcome = "refused"

    def replayed(self, write: Write) -> None:
        """A client was told that the commit of a clone is there already."""
        if write.of_clone is None or write.of_clone.commit_id not in self.contents:
            self._broken(f"{write.name} was taken for transferred, and is not there")

    def seen(self, before: int, version: int) -> None:
        """A reader was shown a version of main; `before` was there when it asked."""
        if version < before:
            self._broken(f"version {version} of main was shown, although {before} was there")

    # --- looking ---------------------------------------------------------------------------------

    def newest(self, home: str) -> Version | None:
        """The newest version of a dataset lineage."""
        numbers = existing(self._bucket, home)
        return self._bucket.files[version_path(home, max(numbers))].value if numbers else None

    def _content(self, view: View, pins: Mapping[str, Row]) -> Content:
        """The rows of every table that a commit shows, from the files it points at."""
        places = {row["table_key"]: row["location"] for row in view.values() if row["object_type"] == "table"}
        return {key: self._rows(places[key], row) for key, row in sorted(pins.items())}

    def _rows(self, location: str, pin: Row) -> Any:
        ref = pin["table_branch"]
        path = version_path(location if ref is None else f"{location}/tree/{ref}", pin["table_version"])
        found = self._bucket.files.get(path)
        if found is None:
            self._broken(f"{path} is published and not there")
        version: Version = found.value
        for fragment in version.fragments:
            if fragment.path not in self._bucket.files:
                self._broken(f"{fragment.path} is published and not there")
        if "rows" not in version._cache:
            version._cache["rows"] = as_rows(version.table())
        if len(version._cache["rows"]) != pin["row_count"]:
            self._broken(f"{path} has {len(version._cache['rows'])} rows, its pin says {pin['row_count']}")
        return version._cache["rows"]

    def _added(self, version: Version) -> dict[str, Row]:
        known = {fragment.id for fragment in version.before.fragments} if version.before is not None else set()
        fresh = [fragment for fragment in version.fragments if fragment.id not in known]
        return {row["object_id"]: row for fragment in fresh for row in fragment.described()}

    def _gone(self, version: Version, before: Version) -> set[str]:
        now = {fragment.id: fragment for fragment in version.fragments}
        gone = set()
        for fragment in before.fragments:
            successor = now.get(fragment.id)
            lost = range(fragment.physical_rows) if successor is None else successor.deleted
            rows = fragment.described() if successor is not fragment else []
            gone |= {rows[at]["object_id"] for at in lost if rows and at not in fragment.deleted}
        return gone

    def _head_of(self, before: Version | None, version: Version) -> str | None:
        if before is not None:
            return before._cache["head"]  # type: ignore[no-any-return]
        rows = view_of(version).values()
        return next((_metadata(row)["head_commit_id"] for row in rows if row["object_type"] == "graph_head"), None)

    def _broken(self, what: str) -> Any:
        self._world.broken(what)


def view_of(version: Version) -> View:
    """Every row of a manifest version, by object id."""
    found = version._cache.get("view")
    if found is None:
        rows = (
            row
            for fragment in version.fragments
            for at, row in enumerate(fragment.described())
            if at not in fragment.deleted
        )
        found = version._cache["view"] = {row["object_id"]: row for row in rows}
    return found


def pins_of(view: View) -> dict[str, Row]:
    """The row that publishes the version of each table."""
    pins: dict[str, Row] = {}
    for row in view.values():
        if row["object_type"] == "table_version":
            known = pins.get(row["table_key"])
            if known is None or known["table_version"] < row["table_version"]:
                pins[row["table_key"]] = row
    return pins


def _shown(pin: Mapping[str, Any]) -> Row:
    """What a commit notes about a table that a later one of its version changes, as the row that published it."""
    return {"table_branch": None, **pin}


def _metadata(row: Row) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(row["metadata"] or "{}")
    return found


def _difference(expected: Content, actual: Content) -> str:
    parts = []
    for key in sorted({*expected, *actual}):
        wanted, found = expected.get(key, {}), actual.get(key, {})
        parts += [
            f"{key} '{name}' should be {wanted.get(name)} and is {found.get(name)}"
            for name in sorted({*wanted, *found})
            if wanted.get(name) != found.get(name)
        ]
    return "; ".join(parts[:6])
