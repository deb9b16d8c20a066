"""Large JSON bodies, read in steps: the same values as the decoder of the standard library, or a refusal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.server.http import long_bodies
from omnigraph.server.http.long_bodies import long_object

VALUES = st.one_of(st.text(), st.integers(), st.booleans(), st.none())


@given(st.dictionaries(st.text(), VALUES), st.booleans(), st.sampled_from([None, 0, 2]), st.sampled_from([8, 17, 64]))
def test_objects_of_strings_mean_what_they_mean_elsewhere(
    members: dict[str, object], ascii_only: bool, indent: int | None, step: int
) -> None:
    text = json.dumps(members, ensure_ascii=ascii_only, indent=indent).encode()
    kept = long_bodies._STEP
    long_bodies._STEP = max(step, 12)  # so that even a short string is read in several steps
    try:
        assert long_object(text, json.loads) == members
    finally:
        long_bodies._STEP = kept


BAD = [
    (b"[1]", "'{' expected"),
    (b'{"a": "x"', "expected at byte"),
    (b'{"a" "x"}', "':' expected"),
    (b'{"a": "x"} y', "nothing may follow"),
    (b'{"a": "x", "a": "y"}', "occurs twice"),
    (b'{"a": [1]}', "object of strings"),
    (b'{"a": {"b": 1}}', "object of strings"),
    (b'{"a": "\\x"}', "not a string"),
    (b'{"a": "\\ud800"}', "half a surrogate pair"),
    (b'{"a": "\n"}', "control character"),
    (b'{"a": "x', "not a string"),
    (b"", "'{' expected"),
    (b'{"a": }', "object of strings"),
]


@pytest.mark.parametrize(("text", "why"), BAD)
def test_what_is_not_such_an_object_is_refused_with_the_place(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        long_object(text, json.loads)
