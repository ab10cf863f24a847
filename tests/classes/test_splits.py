"""Holding out whole classes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen import InputError
from unseen.classes import ClassHoldout


@given(
    n_rows=st.lists(st.integers(1, 5), min_size=4, max_size=12),
    held=st.one_of(st.just(2), st.floats(0.01, 0.5)),
    n_splits=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    names=st.sampled_from([str, int]),
)
def test_no_class_is_on_both_sides(
    n_rows: list[int], held: float, n_splits: int, seed: int, names: type
) -> None:
    y = np.repeat(np.array([names(k) for k in range(len(n_rows))]), n_rows)
    y = np.random.default_rng(seed).permutation(y)
    cv = ClassHoldout(held, n_splits, seed)
    splits = list(cv.split(np.zeros((y.size, 1)), y))
    assert len(splits) == n_splits == cv.get_n_splits()
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(y.size))
        assert not set(y[train]) & set(y[test])
        expected = 2 if held == 2 else max(2, round(held * len(n_rows)))
        assert len(set(y[test])) == expected


def test_the_seed_decides() -> None:
    y = np.repeat(np.arange(30), 2)
    one, same, other = (
        [test.tolist() for _, test in ClassHoldout(5, 4, seed).split(None, y)] for seed in (1, 1, 2)
    )
    assert one == same != other
    assert len({tuple(test) for test in one}) == 4, "the splits of one search differ"


@pytest.mark.parametrize("n_classes", [1, 1.0, 0, -2, np.nan, 2.5, 4.0001, np.inf])
def test_a_number_of_classes_that_makes_no_sense(n_classes: float) -> None:
    message = f"n_classes must be a whole number from 2 to 4.* or a share .*, not {n_classes}"
    with pytest.raises(InputError, match=message):
        list(ClassHoldout(n_classes).split(None, np.arange(6)))


def test_no_split_comes_twice_before_all_have_come() -> None:
    y = np.repeat(list("abcd"), 3)
    for seed in range(5):
        splits = list(ClassHoldout(2, 14, seed).split(None, y))
        held = [tuple(np.unique(y[test])) for _, test in splits]
        pairs = set(itertools.combinations("abcd", 2))
        assert set(held[:6]) == set(held[6:12]) == pairs
        assert held[12] != held[13]


def test_too_few_classes_to_hold_out() -> None:
    with pytest.raises(InputError, match=r"at least 4 seen classes, .* there are 3; use 'fit'"):
        list(ClassHoldout(2).split(None, np.arange(3)))
    with pytest.raises(InputError, match=r"holds out 5 of 6 seen classes .*: at most 4 can be"):
        list(ClassHoldout(0.9).split(None, np.arange(6)))


def test_labels_and_a_number_of_splits_are_needed() -> None:
    with pytest.raises(InputError, match="needs y"):
        list(ClassHoldout().split(np.zeros((4, 1)), None))
    with pytest.raises(InputError, match="n_splits"):
        ClassHoldout(n_splits=0).get_n_splits()


def test_the_text_of_a_holdout_makes_it_again() -> None:
    cv = eval(repr(ClassHoldout(0.3, 4, None)))
    assert (cv.n_classes, cv.n_splits, cv.random_state) == (0.3, 4, None)
