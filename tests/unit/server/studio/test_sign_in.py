"""A one-time code is exchanged once, by one of many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from omnigraph.server.studio.sign_in import OneTimeCode, new_secret


def test_a_code_works_once() -> None:
    once = OneTimeCode("token", "code")
    assert [once.redeem("code"), once.redeem("code")] == ["token", None]


def test_a_wrong_code_does_not_use_the_right_one_up() -> None:
    once = OneTimeCode("token", "code")
    assert [once.redeem(each) for each in ("", "other", "\ud800", "code")] == [None, None, None, "token"]


def test_of_many_at_once_one_gets_the_token() -> None:
    once = OneTimeCode("token", "code")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: once.redeem("code"), range(64)))
    assert sorted(found, key=str) == [None] * 63 + ["token"]


def test_codes_differ() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
