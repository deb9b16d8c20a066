"""Checksums of the files of tables on a disk: taken when a file is written, kept in the transaction that adds it.

A property of the transaction costs no further object and no further request, and recovery need not know
of it. CRC-32 finds every flipped bit and every burst of up to 32 of them; it is not meant against malice.
An object store verifies its objects itself, and reading one back to hash it would cost a round trip per file, so files
there have none.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.fragments import path_of

CHECKSUMS = "omnigraph.checksums"
DATA_DIR = "data"
_MEMBER = "omnigraph_checksums"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Checksum:
    """The size of a file and the CRC-32 of its bytes."""

    size: int
    crc32: int


Checksums = dict[str, Checksum]
"""By path, relative to the directory of the lineage that wrote the file."""


def checksum_of(path: str) -> Checksum:
    """The checksum of a file as it is now; reads all of it."""
    size = crc = 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return Checksum(size, crc)


def checksums_of(address: Address, fragments: Iterable[Any]) -> Checksums:
    """The checksums of files that were just written for fragments: data, blobs beside it, and rows they no longer show.

    `fragments` are lance's descriptions; files of another lineage are left out. Empty on an object store.
    """
    if not address.root.is_local:
        return {}
    names = {name for fragment in fragments for name in written_files(address, fragment)}
    return {name: checksum_of(f"{address.uri}/{name}") for name in sorted(names)}


def written_files(address: Address, fragment: Any) -> Iterator[str]:
    """The files that a fragment has in the directory of a lineage, relative to it."""
    for file in fragment.files:
        if file.base_id is None:
            yield from _with_blobs(address, f"{DATA_DIR}/{path_of(file)}")
    deletions = deletion_name(fragment)
    if deletions is not None:
        yield deletions


def deletion_name(fragment: Any) -> str | None:
    """The file that says which rows a fragment no longer shows, if this lineage wrote it."""
    found = fragment.deletion_file
    return None if found is None or found.base_id is not None else str(found.path(fragment.id))


def deletions_of(address: Address, fragments: Iterable[Any]) -> Checksums:
    """The checksums of the files that were just written to withdraw rows of fragments."""
    if not address.root.is_local:
        return {}
    names = (deletion_name(fragment) for fragment in fragments)
    return {name: checksum_of(f"{address.uri}/{name}") for name in names if name is not None}


def described(fragments: Iterable[Any], known: Mapping[str, Checksum]) -> list[str]:
    """Fragments as JSON, each with the checksums of its files."""
    texts = []
    for fragment in fragments:
        stems = {f"{DATA_DIR}/{os.path.splitext(path_of(file))[0]}" for file in fragment.files}
        own = {name: found for name, found in known.items() if any(name.startswith(stem) for stem in stems)}
        texts.append(json.dumps({**fragment.to_json(), _MEMBER: _document(own)}))
    return texts


def described_again(fragment: Mapping[str, Any], known: Mapping[str, Checksum]) -> dict[str, Any]:
    """The JSON of a fragment with checksums that were taken elsewhere."""
    return {**fragment, _MEMBER: _document(known)}


def in_descriptions(texts: Iterable[str]) -> Checksums:
    """The checksums that come along with described fragments."""
    found: Checksums = {}
    for text in texts:
        found |= _parsed(json.loads(text).get(_MEMBER))
    return found


def as_property(checksums: Mapping[str, Checksum]) -> dict[str, str]:
    """The property of a transaction that keeps checksums; none when there are none."""
    return {CHECKSUMS: json.dumps(_document(checksums), separators=(",", ":"))} if checksums else {}


def from_property(properties: Mapping[str, str]) -> Checksums:
    """The checksums that a transaction keeps; what cannot be understood counts as absent."""
    try:
        return _parsed(json.loads(properties.get(CHECKSUMS, "{}")))
    except ValueError:
        return {}


def to_document(checksums: Mapping[str, Checksum]) -> dict[str, list[int]]:
    """Checksums as JSON values."""
    return _document(checksums)


def from_document(document: Any) -> Checksums:
    """Checksums from JSON values; what cannot be understood counts as absent."""
    return _parsed(document)


def _with_blobs(address: Address, name: str) -> Iterator[str]:
    """A data file, and the files of blobs that lance keeps in a directory of the same name."""
    yield name
    stem = os.path.splitext(name)[0]
    try:
        for entry in os.scandir(f"{address.uri}/{stem}"):
            if entry.is_file():
                yield f"{stem}/{entry.name}"
    except FileNotFoundError:
        return


def _document(checksums: Mapping[str, Checksum]) -> dict[str, list[int]]:
    return {name: [found.size, found.crc32] for name, found in checksums.items()}


def _parsed(document: Any) -> Checksums:
    try:
        return {str(name): Checksum(int(size), int(crc)) for name, (size, crc) in (document or {}).items()}
    except (TypeError, ValueError, AttributeError):
        return {}
