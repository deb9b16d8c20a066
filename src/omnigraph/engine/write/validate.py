"""The one validator of writes: a change set against a committed view, every constraint of the schema, fixed order.

Mutation, load and merge all come here. Phases run values → keys and unique tuples → endpoints → cardinality; inside a
phase findings are ordered by table key, then by id. A write stops at the first finding; a merge collects them all.
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.engine.intake.value_checks import value_findings
from omnigraph.engine.intake.violations import Violation, raise_first
from omnigraph.engine.values.rowset import one_array, smallest
from omnigraph.engine.write.change_set import ChangeSet, CommittedView, TableChange
from omnigraph.engine.write.edge_checks import cardinality_violations, edges_to_check, endpoint_violations
from omnigraph.engine.write.findings import NOWHERE, place_of
from omnigraph.engine.write.unique_checks import unique_violations


def validate(changes: ChangeSet, catalog: Catalog, view: CommittedView) -> None:
    """Raise the first violation of a change set, if there is any."""
    raise_first(find_violations(changes, catalog, view, limit=1))


def find_violations(
    changes: ChangeSet, catalog: Catalog, view: CommittedView, *, limit: int | None = None
) -> list[Violation]:
    """Every violation in order, or at most `limit`; with a limit no later phase runs once a phase has findings."""
    found: list[Violation] = []
    for phase in (_value_phase, _unique_phase, _endpoint_phase, _cardinality_phase):
        found += phase(changes, catalog, view, limit)
        if limit is not None and found:
            return found[:limit]
    return found


def _value_phase(changes: ChangeSet, catalog: Catalog, view: CommittedView, limit: int | None) -> list[Violation]:
    return [violation for _, change in sorted(changes.items()) for violation in value_violations(change, limit)]


def value_violations(change: TableChange, limit: int | None = None) -> list[Violation]:
    """Rows of one table that break a rule by themselves, by id then property."""
    single = len(change.batches) == 1
    rows = change.rows if single else change.final  # a later batch may have repaired an earlier one
    found: list[Violation] = []
    for finding in value_findings(change.info, rows):
        ids = one_array(rows["id"])
        for row in smallest(ids, finding.rows, limit):
            place = place_of(change, row) if single else NOWHERE
            text, entity = finding.text(rows, row), ids[row].as_py()
            found.append(Violation(finding.code, text, change.info.table_key, finding.property_name, (entity,), *place))
    return sorted(found, key=lambda violation: (violation.ids[0], violation.property_name or ""))[:limit]


def _unique_phase(changes: ChangeSet, catalog: Catalog, view: CommittedView, limit: int | None) -> list[Violation]:
    found: list[Violation] = []
    for _, change in sorted(changes.items()):
        found += unique_violations(change, view, limit)
    return found


def _endpoint_phase(changes: ChangeSet, catalog: Catalog, view: CommittedView, limit: int | None) -> list[Violation]:
    return _edge_phase(endpoint_violations, changes, catalog, view, limit)


def _cardinality_phase(changes: ChangeSet, catalog: Catalog, view: CommittedView, limit: int | None) -> list[Violation]:
    return _edge_phase(cardinality_violations, changes, catalog, view, limit)


def _edge_phase(
    check: Callable[[EdgeType, ChangeSet, CommittedView, int | None], list[Violation]],
    changes: ChangeSet,
    catalog: Catalog,
    view: CommittedView,
    limit: int | None,
) -> list[Violation]:
    found: list[Violation] = []
    for edge in edges_to_check(catalog, changes):
        found += check(edge, changes, view, limit)
    return found
