"""What RE2, the engine of Arrow's kernels, has against a regular expression."""

from __future__ import annotations

_MAX_REASON = 200


def regex_problem(pattern: str, longest: int) -> str | None:
    """Why a pattern cannot be used; None when it can."""
    import re2

    if len(pattern) > longest:
        return f"longer than {longest} characters"
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "not accepted"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return text if len(text) <= _MAX_REASON else text[:_MAX_REASON] + "…"
    return None
