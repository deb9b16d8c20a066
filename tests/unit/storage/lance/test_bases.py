"""Where the files of a version are, whatever path its file has for them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from omnigraph.errors import Corrupt
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.bases import misplaced

PERSON = "nodes/40d76f1f51639ec0"
OTHER = "nodes/7cb4e55c59663b1c-0000000000000002"


@dataclass(frozen=True)
class Base:
    path: str
    name: str | None = None


def dataset(*bases: Base) -> Any:
    return SimpleNamespace(_ds=SimpleNamespace(base_paths=lambda: dict(enumerate(bases))))


@pytest.mark.parametrize(
    ("root", "location", "base", "place"),
    [
        ("/new", PERSON, Base(f"/old/{PERSON}"), f"/new/{PERSON}"),
        ("/new", PERSON, Base(f"/old/{PERSON}/tree/a/b", "a/b"), f"/new/{PERSON}/tree/a/b"),
        ("/new", "__manifest", Base("s3://bucket/old/__manifest"), "/new/__manifest"),
        ("s3://bucket/new", "__manifest", Base("/old/__manifest/tree/x", "x"), "s3://bucket/new/__manifest/tree/x"),
        ("az://box/new", PERSON, Base(f"/old/{OTHER}"), f"az://box/new/{OTHER}"),
        # A ref whose name looks like the way to a table.
        ("/new", PERSON, Base(f"/old/{PERSON}/tree/{PERSON}", PERSON), f"/new/{PERSON}/tree/{PERSON}"),
        # A root below a directory that looks like a table.
        (f"/{OTHER}/g", PERSON, Base(f"/{OTHER}/tree/g/{PERSON}"), f"/{OTHER}/g/{PERSON}"),
        ("/new", PERSON, Base(f"/new/{PERSON}"), None),
    ],
)
def test_a_base_is_below_the_root(root: str, location: str, base: Base, place: str | None) -> None:
    address = Root(root).table(location, "side")
    assert misplaced(address, dataset(base)) == ({} if place is None else {0: place})


@pytest.mark.parametrize("base", [Base("/elsewhere/data"), Base(f"/old/{PERSON}", "side"), Base(f"/old{PERSON}")])
def test_files_of_something_else_are_refused(base: Base) -> None:
    with pytest.raises(Corrupt, match="is not a table of this graph"):
        misplaced(Root("/new").table(PERSON, "side"), dataset(base))
