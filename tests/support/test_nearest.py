"""The nearest spelling of a name, among few and among very many."""

from __future__ import annotations

import pytest

from unseen.errors import nearest

MANY = [f"class number {k:06d} of many" for k in range(20_000)]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("class number 00x123 of many", "class number 000123 of many"),
        ("class number 01234x of many", "class number 012340 of many"),
        ("class number 001 234 of many", "class number 001234 of many"),
        ("c1ass number 000123 of m4ny", "class number 000123 of many"),
        ("Class Number 012345 of Many!", "class number 012345 of many"),
    ],
)
def test_the_nearest_of_very_many_has_the_fewest_slips(name: str, found: str) -> None:
    assert nearest(name, MANY) == f"; nearest name: {found!r}"


@pytest.mark.parametrize("name", ["zzz", "", "x" * 150, "y" * 300])
def test_nothing_near_is_no_hint(name: str) -> None:
    assert nearest(name, MANY) == ""
    assert nearest(name, ["zebra", "tiger"]) == nearest(name, []) == ""
