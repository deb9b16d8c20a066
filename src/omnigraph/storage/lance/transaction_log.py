"""What the transactions of a dataset say: who committed a version, how, and whether rows could have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRANSACTIONS_DIR = "_transactions"
OPERATION_ID = "omnigraph.operation_id"
BRANCH = "omnigraph.branch"
EFFECT = "omnigraph.effect"
NEUTRALIZE = "neutralize"
MAINTAIN = "maintain"
BARRIER = "barrier"

_PRESERVING = frozenset({"Rewrite", "CreateIndex", "UpdateConfig"})


@dataclass(frozen=True, slots=True)
class TransactionInfo:
    """One committed transaction; `operation` is lance's operation name, `restored` the target of a Restore."""

    version: int
    read_version: int
    uuid: str
    operation: str
    restored: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def operation_id(self) -> str | None:
        """The graph operation that made this commit, or None for maintenance and foreign commits."""
        return self.properties.get(OPERATION_ID)

    @property
    def is_owned(self) -> bool:
        """Whether this software made the commit and will answer for it: a graph operation, or maintenance."""
        return self.operation_id is not None or EFFECT in self.properties

    @property
    def never_changes_rows(self) -> bool:
        """Compaction, index builds, configuration, barriers; unmapped operations need `preserves_content` instead."""
        return self.operation in _PRESERVING or self.properties.get(EFFECT) == BARRIER

    @property
    def is_unmapped(self) -> bool:
        """An operation that pylance has no class for, such as reserving fragment ids before a compaction."""
        return self.operation == "BaseOperation"


def describe_transaction(version: int, transaction: Any) -> TransactionInfo:
    """The value for one lance transaction."""
    operation = transaction.operation
    name = type(operation).__name__
    return TransactionInfo(
        version=version,
        read_version=transaction.read_version,
        uuid=transaction.uuid,
        operation=name,
        restored=operation.version if name == "Restore" else None,
        properties=dict(transaction.transaction_properties or {}),
    )
