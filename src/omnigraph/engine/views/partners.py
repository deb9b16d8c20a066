"""Which column of one table version is which of another one: properties are matched by identity, not by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.engine.values.arrow import PROPERTY_ID

_PROPERTY_ID = PROPERTY_ID.encode()


@dataclass(frozen=True, slots=True)
class Partners:
    """The columns of two versions side by side; what only one of them has was dropped, or added, in between."""

    paired: Mapping[str, str]  # the name after → the name before
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def reversed(self) -> Partners:
        """The same seen from the other side."""
        return Partners({before: after for after, before in self.paired.items()}, self.added, self.dropped)

    @property
    def same_names(self) -> bool:
        """Whether both versions have the same columns under the same names."""
        return not (self.dropped or self.added) and all(after == before for after, before in self.paired.items())


def partners_of(before: pa.Schema, after: pa.Schema) -> Partners:
    """The partners of two stored schemas; columns without an identity (ids and endpoints) go by name."""
    older = {_identity(field): field.name for field in before}
    paired, added = {}, []
    for field in after:
        partner = older.pop(_identity(field), None)
        if partner is None:
            added.append(field.name)
        else:
            paired[field.name] = partner
    return Partners(paired, tuple(older.values()), tuple(added))


def meaning(schema: pa.Schema) -> dict[str | bytes, tuple[str, bool]]:
    """What the columns mean to readers, whatever they are called and in which order; a blob shows in its type."""
    return {_identity(field): (str(field.type), field.nullable) for field in schema}


def _identity(field: pa.Field) -> str | bytes:
    found: bytes | None = (field.metadata or {}).get(_PROPERTY_ID)
    return field.name if found is None else found
