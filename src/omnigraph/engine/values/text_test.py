"""Conditions on texts (`contains`, `starts_with`, `ends_with`, `matches`) over Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.fixed import Fixed, Operand, broadcast
from omnigraph.engine.values.functions import Call
from omnigraph.engine.values.functions.kernel import with_options
from omnigraph.engine.values.functions.text import strings
from omnigraph.engine.values.operands import usable_needle

_TEXT_TESTS: Mapping[str, Callable[[pa.Array, str], pa.Array]] = {
    "contains": pc.match_substring,
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
    "matches": pc.match_substring_regex,
}
_ENDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "starts_with": np.strings.startswith,
    "ends_with": np.strings.endswith,
}


def text_test(op: str, length: int, text: Operand, needle: Operand) -> pa.Array:
    """True, false or null per row of `length` rows."""
    if isinstance(needle, Fixed) and not isinstance(text, Fixed):
        if needle.value is None:
            return pa.nulls(length, pa.bool_())
        return _TEXT_TESTS[op](text, usable_needle(op, str(needle.value)))
    texts, needles = _texts(text, length), _texts(needle, length)
    if op == "matches":
        call = Call((texts, needles), (pa.utf8(), pa.utf8()), length, pa.bool_())
        return with_options(call, lambda part, pattern: _TEXT_TESTS[op](part, usable_needle(op, pattern)), "")
    valid = pc.and_(pc.is_valid(texts), pc.is_valid(needles))
    haystack, wanted = strings(texts), strings(needles)
    found = np.strings.find(haystack, wanted) >= 0 if op == "contains" else _ENDS[op](haystack, wanted)
    return pc.if_else(valid, pa.array(found, pa.bool_()), None)


def _texts(operand: Operand, length: int) -> pa.Array:
    return broadcast(operand.value, pa.utf8(), length) if isinstance(operand, Fixed) else operand
