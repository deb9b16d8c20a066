"""Names that a proposed schema gives to columns."""

from __future__ import annotations

import pytest

from omnigraph.pipeline.formats.draft import property_name


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("Full Name", "full_name"),
        ("Shop ID", "shop_id"),
        ("ISBN Number", "isbn_number"),
        ("SKUCode", "skuCode"),
        ("Order IDs", "order_ids"),
        ("HTTP2Server", "http2Server"),
        ("Is_VIP", "is_vip"),
        ("SHOP_ID", "shop_id"),
        ("fullName", "fullName"),
        ("iPhone Model", "iPhone_model"),
        ("2nd Place", "_2nd_place"),
        ("ID", "id_"),
    ],
)
def test_abbreviations_in_capitals_are_one_word(column: str, name: str) -> None:
    assert property_name(column) == name
