"""Migration codes: what each one means, its family, how careful one must be, and how severe it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Tier = Literal["safe", "validated", "destructive"]

FAMILIES: Mapping[str, str] = {
    "DS": "destructive",
    "MF": "may fail",
    "CD": "constraint deletion",
    "BC": "compatibility",
    "VE": "vectors",
    "ED": "topology",
    "NM": "naming",
    "OW": "ownership",
    "NL": "nullability",
    "LK": "locking",
}


@dataclass(frozen=True, slots=True)
class MigrationCode:
    """One stable code."""

    code: str
    title: str
    tier: Tier
    severity: Literal["error"] = "error"

    @property
    def family(self) -> str:
        """The two letters between the dashes."""
        return self.code.split("-")[1]


_ALL = (
    # Reserved: drops are planned as supported steps, so these are never emitted.
    MigrationCode("OG-DS-101", "drop a graph type", "destructive"),
    MigrationCode("OG-DS-102", "drop a node type", "destructive"),
    MigrationCode("OG-DS-103", "drop an edge type", "destructive"),
    MigrationCode("OG-DS-104", "drop a property", "destructive"),
    MigrationCode("OG-DS-105", "drop a vector property", "destructive"),
    MigrationCode("OG-MF-104", "tighten nullability", "validated"),
    # Emitted.
    MigrationCode("OG-MF-103", "add a required property", "validated"),
    MigrationCode("OG-MF-106", "change a property's type", "validated"),
    MigrationCode("OG-MF-107", "add a constraint that existing rows may violate", "validated"),
    MigrationCode("OG-CD-101", "remove a constraint", "destructive"),
    MigrationCode("OG-CD-102", "move a constraint between property and body", "safe"),
    MigrationCode("OG-ED-101", "change an edge's endpoints", "validated"),
    MigrationCode("OG-ED-102", "change an edge's cardinality", "validated"),
    MigrationCode("OG-BC-101", "remove an interface", "safe"),
    MigrationCode("OG-BC-102", "change the interfaces of a node", "safe"),
    MigrationCode("OG-BC-103", "change who supplies a property", "safe"),
    MigrationCode("OG-BC-104", "change an annotation", "safe"),
    MigrationCode("OG-BC-199", "a difference without a migration", "validated"),
    MigrationCode("OG-VE-101", "change where a vector is embedded from", "validated"),
)
CODES: Mapping[str, MigrationCode] = {each.code: each for each in _ALL}
RESERVED = frozenset({"OG-DS-101", "OG-DS-102", "OG-DS-103", "OG-DS-104", "OG-DS-105", "OG-MF-104", "OG-CD-102"})
