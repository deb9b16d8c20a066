"""Kernels of texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions.model import Failure
from omnigraph.compiler.functions.text import LONGEST, bounds, compiled
from omnigraph.engine.values.functions.kernel import Answer, Call, Kernel, numpy_of, refused, with_options
from omnigraph.errors import ResourceLimitExceeded

_LONG = 1 << 31


def _plain(compute: Callable[[pa.Array], pa.Array]) -> Kernel:
    return lambda call: compute(call.column(0))


def _by_bytes(wide: Callable[[pa.Array], pa.Array], narrow: Callable[[pa.Array], pa.Array]) -> Kernel:
    """Where every character is a byte, the kernel that knows only those is several times as fast."""

    def kernel(call: Call) -> pa.Array:
        texts = call.column(0)
        return narrow(texts) if _is_ascii(texts) else wide(texts)

    return kernel


def _is_ascii(texts: pa.Array) -> bool:
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return True
    ends = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)
    used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return not len(used) or bool(used.max() < 128)


def _substring(call: Call) -> pa.Array:
    def cut(texts: pa.Array, start: int, count: int | None) -> pa.Array:
        first, stop = bounds(start, count)
        return _sliced(texts, first, stop)

    return with_options(call, cut, 0, None)


def _sliced(texts: pa.Array, start: int, stop: int | None) -> pa.Array:
    # No text is longer, and Arrow takes no number beyond 64 bits.
    start, stop = (None if at is None else max(-_LONG, min(at, _LONG)) for at in (start, stop))  # type: ignore[assignment]
    # An empty range below zero is not one that Arrow takes.
    if stop is not None and ((start < 0) == (stop < 0)) and stop <= start:
        return pc.if_else(texts.is_valid(), "", pa.scalar(None, pa.utf8()))
    return pc.utf8_slice_codeunits(texts, start=start, stop=stop)


def _left(texts: pa.Array, count: int) -> pa.Array:
    return _sliced(texts, 0, max(count, 0))


def _right(texts: pa.Array, count: int) -> pa.Array:
    return _sliced(texts, -count, None) if count > 0 else _sliced(texts, 0, 0)


def _replace(texts: pa.Array, find: str, new: str) -> pa.Array:
    if not find:
        return texts
    more = len(new.encode()) - len(find.encode())
    if more > 0:
        _require_room(texts, pc.multiply(pc.count_substring(texts, pattern=find).cast(pa.int64()), more))
    return pc.replace_substring(texts, pattern=find, replacement=new)


def _require_room(texts: pa.Array, more: pa.Array) -> None:
    """Refuse to make texts longer by so many bytes each when one of them, or all together, would become too long."""
    sizes = pc.add(pc.binary_length(texts).cast(pa.int64()), more)
    grown = pc.max(pc.if_else(pc.greater(more, 0), sizes, 0)).as_py() or 0
    if grown > LONGEST:
        raise ResourceLimitExceeded("text_bytes", limit=LONGEST, actual=grown)
    total = pc.sum(sizes).as_py() or 0
    if total >= _LONG:
        raise ResourceLimitExceeded("query_bytes", limit=_LONG - 1, actual=total)


def _split(texts: pa.Array, separator: str) -> pa.Array:
    if separator:
        return pc.split_pattern(texts, pattern=separator)
    return pa.array([None if text is None else list(text) for text in texts.to_pylist()], pa.list_(pa.utf8()))


def _concat(call: Call) -> pa.Array:
    total = sum(pc.sum(pc.binary_length(each)).as_py() or 0 for each in call.columns())
    if total >= _LONG:
        raise ResourceLimitExceeded("query_bytes", limit=_LONG - 1, actual=total)
    return pc.binary_join_element_wise(*call.columns(), "")


def _padding(pad: Callable[..., pa.Array]) -> Kernel:
    def padded(call: Call) -> Answer:
        bad = np.zeros(call.length, np.bool_)
        known = call.column(0).is_valid().to_numpy(zero_copy_only=False)
        widths = call.column(1)
        bad |= (numpy_of(widths) > LONGEST) & widths.is_valid().to_numpy(zero_copy_only=False)
        why = f"a text is padded to at most {LONGEST} characters"
        if len(call.args) > 2:
            fills = call.column(2)
            wrong = numpy_of(pc.fill_null(pc.not_equal(pc.utf8_length(fills), 1), False))
            why = why if not wrong.any() else "what pads a text is one character"
            bad |= wrong
        bad &= known if len(call.args) < 3 else known & numpy_of(call.column(2).is_valid())
        bad &= numpy_of(widths.is_valid())

        def one(texts: pa.Array, width: int, fill: str) -> pa.Array:
            usable = len(fill) == 1 and width <= LONGEST
            return pad(texts, width=max(width, 0), padding=fill) if usable else texts

        return refused(with_options(call, one, 0, " "), bad, why)

    return padded


def _repeat(call: Call) -> Answer:
    texts, times = call.column(0), pc.max_element_wise(call.column(1), pa.scalar(0, pa.int64()), skip_nulls=False)
    sizes = numpy_of(pc.utf8_length(texts).cast(pa.int64())).astype(np.float64)
    bad = (sizes * numpy_of(times).astype(np.float64) > LONGEST) & numpy_of(pc.and_(texts.is_valid(), times.is_valid()))
    times = pc.if_else(pa.array(bad), 0, times)
    return refused(pc.binary_repeat(texts, times), bad, f"a repeated text has at most {LONGEST} characters")


def _position(call: Call) -> pa.Array:
    texts, needles = call.column(0), call.column(1)
    found = np.strings.find(strings(texts), strings(needles)).astype(np.int64)
    return pc.if_else(pc.and_(texts.is_valid(), needles.is_valid()), pa.array(found), pa.scalar(None, pa.int64()))


def strings(texts: pa.Array) -> np.ndarray[Any, Any]:
    """Texts for NumPy, empty for null."""
    return np.array(pc.fill_null(texts, "").to_pylist(), dtype=np.dtypes.StringDType())


def _extract(call: Call) -> pa.Array:
    pattern, group = call.constant(1), call.constant(2, 0)
    if pattern is None or group is None:
        return pa.nulls(call.length, call.kind)
    if not 0 <= group <= compiled(pattern).groups:
        raise Failure(f"the pattern has no group {group}")
    texts = call.column(0)
    whole = rf"\A(?s:.*?)({pattern})(?s:.*)\z"
    found = pc.replace_substring_regex(texts, pattern=whole, replacement=f"\\{group + 1}", max_replacements=1)
    return pc.if_else(pc.match_substring_regex(texts, pattern), found, pa.scalar(None, pa.utf8()))


def _regex_replace(call: Call) -> pa.Array:
    pattern, new = call.constant(1), call.constant(2)
    if pattern is None or new is None:
        return pa.nulls(call.length, call.kind)
    compiled(pattern)
    texts = call.column(0)
    # Every match brings the replacement; what it repeats of the match is at most the text, once for each reference.
    matches = pc.count_substring_regex(texts, pattern=pattern).cast(pa.int64())
    repeats = pc.multiply(pc.binary_length(texts).cast(pa.int64()), new.count("\\"))
    _require_room(texts, pc.add(pc.multiply(matches, len(new.encode())), repeats))
    try:
        return pc.replace_substring_regex(texts, pattern=pattern, replacement=new)
    except pa.ArrowInvalid:
        raise Failure(f"{new!r} is not a replacement for that pattern") from None


TEXT_KERNELS: dict[str, Kernel] = {
    "lower": _by_bytes(pc.utf8_lower, pc.ascii_lower),
    "upper": _by_bytes(pc.utf8_upper, pc.ascii_upper),
    "trim": _plain(pc.utf8_trim_whitespace),
    "trim_start": _plain(pc.utf8_ltrim_whitespace),
    "trim_end": _plain(pc.utf8_rtrim_whitespace),
    "length": lambda call: pc.utf8_length(call.column(0)).cast(pa.int64()),
    "substring": _substring,
    "left": lambda call: with_options(call, _left, 0),
    "right": lambda call: with_options(call, _right, 0),
    "replace": lambda call: with_options(call, _replace, "", ""),
    "split": lambda call: with_options(call, _split, ""),
    "concat": _concat,
    "pad_left": _padding(pc.utf8_lpad),
    "pad_right": _padding(pc.utf8_rpad),
    "repeat": _repeat,
    "reverse": _plain(pc.utf8_reverse),
    "position": _position,
    "regex_extract": _extract,
    "regex_replace": _regex_replace,
    "normalize": lambda call: pc.utf8_normalize(call.column(0), form=call.constant(1, "NFC")),
}
