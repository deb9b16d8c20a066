"""What is stored below a cluster's root, and how it is reached."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects

STATE = "__cluster/state.json"
LOCK = "__cluster/lock.json"
APPROVALS = "__cluster/approvals"
RECOVERIES = "__cluster/recoveries"
_RESOURCES = "__cluster/resources"


@dataclass(frozen=True, slots=True)
class Stored:
    """The storage of one cluster."""

    root: Root
    objects: Objects

    def shown(self, name: str) -> str:
        """A stored file as messages name it: a plain path, or a URI."""
        return self.root.child(name)

    def graph_uri(self, graph_id: str) -> str:
        return self.root.child(graph_name(graph_id))

    def graph_exists(self, graph_id: str) -> bool:
        """Whether anything is at a graph's root; locally an empty directory counts."""
        if self.root.is_local:
            return os.path.lexists(self.graph_uri(graph_id))
        return self.objects.exists(graph_name(graph_id))

    def documents(self, folder: str) -> list[str]:
        """The JSON files of a folder, by name."""
        return sorted(f"{folder}/{name}" for name in self.objects.list_dir(folder) if name.endswith(".json"))


def open_stored(uri: str) -> Stored:
    """The storage at a root; BadRequest or StorageError when it cannot be one."""
    root = normalize_root(uri)
    return Stored(root, open_objects(root))


def owning_cluster(uri: str) -> str | None:
    """The root of the cluster that a graph location belongs to, by its shape and the ledger beside it."""
    head, found, name = normalize_root(uri).uri.rpartition("/graphs/")
    if not found or "/" in name or not name.endswith(".omni"):
        return None
    return head if open_stored(head).objects.exists(STATE) else None


def graph_name(graph_id: str) -> str:
    return f"graphs/{graph_id}.omni"


def query_blob(graph_id: str, name: str, digest: str) -> str:
    return f"{_RESOURCES}/query/{graph_id}/{name}/{digest}.gq"


def policy_blob(name: str, digest: str) -> str:
    return f"{_RESOURCES}/policy/{name}/{digest}.yaml"


def to_text(document: Any) -> str:
    """A stored document: two spaces a level and a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def now() -> str:
    """The time as stored documents spell it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
