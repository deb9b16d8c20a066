"""`profile list` and `profile show`: what the operator config resolves to."""

from __future__ import annotations

from typing import Any

from omnigraph.cli.address.config import Profile
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import BadRequest


def list_profiles(call: Call) -> None:
    """Every profile, broken ones included."""
    active = call.env.get("OMNIGRAPH_PROFILE") or None
    found = [_listed(name, profile, active) for name, profile in sorted(call.config.profiles.items())]
    if call.json:
        output.document(found)
    elif not found:
        output.line("no profiles defined in the operator config")
    else:
        output.write("".join(f"{_list_line(each)}\n" for each in found))


def show(call: Call) -> None:
    """One profile, or the defaults when none is named."""
    name = call.argument("NAME") or call.env.get("OMNIGRAPH_PROFILE") or None
    shown = _defaults(call) if name is None else _named(call, name)
    if call.json:
        output.document(shown)
        return
    target = f" {shown['target']}" if shown["target"] is not None else ""
    lines = [f"profile: {shown['name']}", f"  scope:   {shown['scope_kind']}{target}"]
    if shown["target"] is not None:
        undefined = f"(undefined {shown['scope_kind']} '{shown['target']}')"
        lines.append(f"  endpoint: {shown['endpoint'] or undefined}")
    if shown["default_graph"] is not None:
        lines.append(f"  default graph: {shown['default_graph']}")
    if shown["output_format"] is not None:
        lines.append(f"  output: {shown['output_format']}")
    output.write("".join(f"{text}\n" for text in lines))


def _listed(name: str, profile: Profile, active: str | None) -> dict[str, Any]:
    problem = profile.problem()
    kind, target = profile.bindings()[0] if problem is None else ("invalid", None)
    return {
        "name": name,
        "binding": f"invalid: {problem}" if problem is not None else f"{kind}: {target}",
        "scope_kind": kind,
        "target": target,
        "valid": problem is None,
        "error": problem,
        "default_graph": profile.default_graph,
        "active": name == active,
    }


def _list_line(profile: dict[str, Any]) -> str:
    active = " (active)" if profile["active"] else ""
    graph = f" · graph: {profile['default_graph']}" if profile["default_graph"] is not None else ""
    return f"{profile['name']}{active}  {profile['binding']}{graph}"


def _named(call: Call, name: str) -> dict[str, Any]:
    profile = call.config.profiles.get(name)
    if profile is None:
        known = ", ".join(sorted(call.config.profiles)) or "none"
        raise BadRequest(f"unknown profile '{name}' (defined: {known})")
    problem = profile.problem()
    if problem is not None:
        raise BadRequest(f"profile '{name}' {problem}")
    kind, target = profile.bindings()[0]
    return _shown(call, name, kind, target, profile.default_graph)


def _defaults(call: Call) -> dict[str, Any]:
    defaults = call.config.defaults
    if defaults.server is not None:
        return _shown(call, "(defaults)", "server", defaults.server, None)
    if defaults.store is not None:
        return _shown(call, "(defaults)", "store", defaults.store, None)
    return _shown(call, "(defaults)", "none", None, None)


def _shown(call: Call, name: str, kind: str, target: str | None, graph: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "scope_kind": kind,
        "target": target,
        "endpoint": _endpoint(call, kind, target),
        "default_graph": graph or call.config.defaults.default_graph,
        "output_format": call.config.defaults.output,
    }


def _endpoint(call: Call, kind: str, target: str | None) -> str | None:
    """Where a target leads; None for a name that the config does not define."""
    if target is None or kind == "store":
        return target
    named = (call.config.servers if kind == "server" else call.config.clusters).get(target)
    literal = "://" in target or (kind == "cluster" and ("/" in target or target.startswith(".")))
    return named if named is not None else target if literal else None
