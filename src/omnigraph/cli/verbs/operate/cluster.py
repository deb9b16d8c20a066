"""`cluster …`: print what the control plane reports; the reports themselves are made in `omnigraph.cluster`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

_Report = dict[str, Any]


def validate(call: Call) -> int:
    """Check the declaration."""
    from omnigraph.cluster.status import validate as run

    return _show(call, run(_directory(call)), _validate_head)


def plan(call: Call) -> int:
    """Show what an apply would do."""
    from omnigraph.cluster.plan import plan as run

    return _show(call, run(_directory(call)), _plan_head)


def apply(call: Call) -> int:
    """Make storage match the declaration."""
    from omnigraph.cluster.apply import apply as run

    return _show(call, run(_directory(call), _actor(call)), _apply_head)


def approve(call: Call) -> int:
    """Consent to a destructive change."""
    from omnigraph.cluster.approve import approve as run

    actor = _actor(call)
    if actor is None:
        raise BadRequest("an approval needs a name: pass --as, or set operator.actor in config.yaml")
    return _show(call, run(_directory(call), call.required("RESOURCE"), actor), _approve_head)


def status(call: Call) -> int:
    """Show the ledger."""
    from omnigraph.cluster.status import status as run

    return _show(call, run(_directory(call)), _status_head)


def refresh(call: Call) -> int:
    """Record what is really there."""
    from omnigraph.cluster.refresh import refresh as run

    return _show(call, run(_directory(call)), _refresh_head)


def import_state(call: Call) -> int:
    """Start a ledger."""
    from omnigraph.cluster.refresh import import_state as run

    return _show(call, run(_directory(call)), _refresh_head)


def force_unlock(call: Call) -> int:
    """Remove the lock of a dead command."""
    from omnigraph.cluster.status import force_unlock as run

    return _show(call, run(_directory(call), call.required("LOCK_ID")), _unlock_head)


def _directory(call: Call) -> str:
    return call.value("--config")


def _actor(call: Call) -> str | None:
    return call.text("--as") or call.config.actor


def _show(call: Call, report: _Report, head: Callable[[_Report], str]) -> int:
    if call.json:
        output.document(report)
    else:
        lines = [head(report), *map(_change, report.get("changes", ())), *map(_diagnostic, report["diagnostics"])]
        output.write("".join(f"{line}\n" for line in lines))
    return 0 if report["ok"] else 1


def _change(change: _Report) -> str:
    bindings = " [bindings]" if change.get("binding_change") else ""
    reason = f": {change['reason']}" if "reason" in change else ""
    disposition = f" [{change['disposition'].capitalize()}{reason}]" if "disposition" in change else ""
    return f"{change['operation'].capitalize()} {change['resource']}{bindings}{disposition}"


def _diagnostic(item: _Report) -> str:
    return f"{'ERROR' if item['severity'] == 'error' else 'WARN '} {item['code']} {item['path']}: {item['message']}"


def _validate_head(report: _Report) -> str:
    if not report["ok"]:
        return "cluster config invalid"
    counts = f"{len(report['resources'])} resource(s), {len(report['dependencies'])} dependency edge(s)"
    return f"cluster config valid: {counts}"


def _plan_head(report: _Report) -> str:
    return f"cluster plan: {len(report['changes'])} change(s), {len(report['approvals_required'])} approval gate(s)"


def _apply_head(report: _Report) -> str:
    return f"cluster apply: {report['applied_count']} applied, {report['deferred_count']} deferred/blocked"


def _approve_head(report: _Report) -> str:
    if "approval_id" not in report:
        return "cluster approve: nothing approved"
    who = f"approved by {report['approved_by']} (approval {report['approval_id']})"
    return f"cluster approve: {report['operation']} {report['resource']} {who}"


def _status_head(report: _Report) -> str:
    seen = report["state_observations"]
    if not seen["state_found"]:
        return "cluster state missing"
    return f"cluster state: revision {seen['state_revision']}, {seen['resource_count']} resource(s)"


def _refresh_head(report: _Report) -> str:
    seen = report["state_observations"]
    counts = f"revision {seen['state_revision']}, {seen['resource_count']} resource(s)"
    return f"cluster {report['operation']}: {counts}"


def _unlock_head(report: _Report) -> str:
    if not report["lock_removed"]:
        return "cluster force-unlock: no lock removed"
    return f"cluster force-unlock: removed lock ({report['state_observations'].get('lock_id')})"
