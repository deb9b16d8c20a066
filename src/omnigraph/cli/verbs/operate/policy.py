"""`policy validate`, `policy test` and `policy explain`: try out the applied policy of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.address.scope import cluster_scope
from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_bytes
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.policy.engine import PolicyEngine


def validate(call: Call) -> None:
    """Compile the bundle."""
    engine = _engine(call)
    output.line(f"policy valid: bundle '{engine.bundle.name}' [{len(engine.known_actors)} actors]")


def test(call: Call) -> int:
    """Run every case; mismatches decide the exit code."""
    from omnigraph.policy.cases import parse_cases, run_cases

    path = call.value("--tests")
    try:
        cases = parse_cases(read_bytes(path).decode(), path)
    except UnicodeDecodeError:
        raise BadRequest(f"policy tests '{path}': not UTF-8 text") from None
    mismatches = run_cases(_engine(call), cases)
    if not mismatches:
        output.line(f"policy tests passed: {len(cases)} cases")
        return 0
    output.note("\n".join([f"error: {len(mismatches)} of {len(cases)} policy tests failed", *mismatches]))
    return 1


def explain(call: Call) -> None:
    """One decision, line by line; a denial is an answer, not a failure."""
    from omnigraph.policy.cases import parse_action
    from omnigraph.policy.engine import PolicyRequest

    actor, branch, target = call.value("--actor"), call.text("--branch"), call.text("--target-branch")
    request = PolicyRequest(parse_action(call.value("--action")), branch, target)
    decision = _engine(call).decide(actor, request)
    lines = {
        "decision": "allow" if decision.allowed else "deny",
        "actor": actor,
        "action": str(request.action),
        "branch": branch,
        "target_branch": target,
        "matched_rule": decision.matched_rule_id,
        "message": decision.message,
    }
    output.write("".join(f"{name}: {value}\n" for name, value in lines.items() if value is not None))


def _engine(call: Call) -> PolicyEngine:
    from omnigraph.cluster.policies import compile_applied

    scope = cluster_scope(call)
    server = call.text("--scope") == "cluster"
    if server and call.given("--graph"):
        raise BadRequest("--graph and --scope cluster select different bundles; give one of them")
    return compile_applied(scope.root, None if server else scope.graph, server=server)
