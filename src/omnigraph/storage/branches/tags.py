"""Tags: names for commits, one small object each under `__tags/`, created once and never changed."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from omnigraph.display import Displayed
from omnigraph.errors import Conflict, Corrupt, NotFound
from omnigraph.storage.base.layout import TAGS_DIR
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.manifest.branch_refs import find_ref

_NAME = re.compile(r"[A-Za-z0-9._/-]+")


@dataclass(frozen=True, slots=True, repr=False)
class Tag(Displayed):
    """A named commit and where its state is found; cleanup keeps everything that state needs."""

    name: str
    graph_commit_id: str
    branch: str | None
    manifest_version: int
    created_at: int
    actor_id: str | None = None
    message: str | None = None


def create_tag(store: Store, tag: Tag) -> None:
    """Store a tag; Conflict when the name is taken, by a branch too.

    Under graph control, as every creation of a branch, and because a cleanup that has listed the tags already must not
    run on past a new one.
    """
    with hold_control(store, "tag", target=tag.name):
        if find_ref(store.root, tag.name) is not None:
            raise Conflict(f"there is a branch '{tag.name}' already; choose another name for the tag")
        if not store.objects.write_if_absent(_path(tag.name), json.dumps(asdict(tag))):
            raise Conflict(f"tag '{tag.name}' already exists; tags never move, delete it first")


def list_tags(store: Store) -> list[Tag]:
    """Every tag by name."""
    names = (name.removesuffix(".json") for name in store.objects.list_dir(TAGS_DIR) if name.endswith(".json"))
    found = (find_tag(store, name.replace("%2F", "/")) for name in names)
    return sorted((tag for tag in found if tag is not None), key=lambda tag: tag.name)


def find_tag(store: Store, name: str) -> Tag | None:
    """One tag, or None when there is none of this name."""
    text = store.objects.read_if_exists(_path(name)) if _NAME.fullmatch(name) else None
    if text is None:
        return None
    try:
        return Tag(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise Corrupt(f"{_path(name)} is unreadable: {error}") from error


def delete_tag(store: Store, name: str) -> None:
    """Remove a tag; the commit stays until cleanup finds it too old."""
    if find_tag(store, name) is None:
        raise NotFound(f"tag '{name}' not found")
    store.objects.delete(_path(name))


def _path(name: str) -> str:
    return f"{TAGS_DIR}/{name.replace('/', '%2F')}.json"
