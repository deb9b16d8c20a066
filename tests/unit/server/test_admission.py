"""Admission: what one actor may hold, and that everything is given back."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from omnigraph.server.admission import Admission, Caps, caps_from
from omnigraph.server.http.refusal import Refusal


def test_of_thirty_two_attempts_sixteen_are_admitted() -> None:
    admission = Admission(Caps(inflight=16))
    with ExitStack() as held:
        for _ in range(16):
            held.enter_context(admission.admit("ada", 1))
        for _ in range(16):
            with pytest.raises(Refusal) as caught:
                held.enter_context(admission.admit("ada", 1))
            assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "60")
        assert admission.held("ada") == (16, 16)
    assert admission.held("ada") == (0, 0)


def test_bytes_are_counted_and_equality_passes() -> None:
    admission = Admission(Caps(bytes=1000))
    with admission.admit("ada", 600):
        with pytest.raises(Refusal), admission.admit("ada", 600):
            pass
        with admission.admit("ada", 400):
            assert admission.held("ada") == (2, 1000)
    assert admission.held("ada") == (0, 0)


def test_actors_do_not_affect_each_other_and_nobody_is_anonymous() -> None:
    admission = Admission(Caps(inflight=1))
    with admission.admit("ada", 1), admission.admit("bob", 1), admission.admit(None, 1):
        assert admission.held("anonymous") == (1, 1)


def test_a_place_is_given_back_when_the_work_fails() -> None:
    admission = Admission(Caps(inflight=1))
    with pytest.raises(ValueError), admission.admit("ada", 1):
        raise ValueError
    assert admission.held("ada") == (0, 0)


def test_streams_are_counted_by_themselves_per_actor_and_in_all() -> None:
    admission = Admission(Caps(inflight=1, streams=2, all_streams=3))
    with ExitStack() as held:
        held.enter_context(admission.admit("ada", 1))
        for actor in ("ada", "ada", None):
            held.enter_context(admission.listen(actor))
        for actor, why in (("ada", "streams of this actor"), ("bob", "limit of this server")):
            with pytest.raises(Refusal, match=why) as caught:
                held.enter_context(admission.listen(actor))
            assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "60")
        assert [admission.listening(actor) for actor in ("ada", None, "bob")] == [2, 1, 0]
    assert admission.listening("ada") == 0
    with admission.listen("bob"):
        assert admission.listening("bob") == 1


def test_a_cap_that_is_no_number_is_replaced_by_the_default() -> None:
    given = {"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "many", "OMNIGRAPH_PER_ACTOR_BYTES_MAX": " 7 "}
    assert caps_from(given) == Caps(16, 7)
