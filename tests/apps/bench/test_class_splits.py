"""Random class splits: who takes part, what is dropped, and that each can be drawn again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unseen import InputError, make_zero_shot
from unseen.apps.bench.class_splits import capped, drawn, n_divisions, taking_part
from unseen.apps.bench.jobs import Job, opened
from unseen.apps.report.provenance import sources
from unseen.datasets import Split, ZeroShotDataset


def published() -> ZeroShotDataset:
    """Fifteen classes; two splits keep three each as unseen, one of them the same."""
    data = make_zero_shot(n_seen=12, n_unseen=3, rows_per_class=8, n_features=5)
    names = data.classes.names
    splits = {"SS": Split(names[12:], np.arange(4)), "PS": Split(names[10:13])}
    return replace(data, splits=splits, split="SS", test_rows=np.arange(4))


def test_no_class_that_a_split_keeps_as_unseen_takes_part() -> None:
    data = published()
    kept_back = set(data.classes.names[10:])
    assert set(taking_part(data, "seen")) == set(data.classes.names[:10])
    for number in range(12):
        division = drawn(data, "seen", number)
        assert not kept_back & set(division.y)
        assert not kept_back & set(division.classes.names), "nor its description"
        assert division.unseen.size == 2
        assert division.seen.size == 8
        assert division.train_rows.size == 64, "rows kept for testing are trained on"


def test_the_division_in_use_counts_where_the_data_come_with_no_split() -> None:
    data = make_zero_shot(n_seen=6, n_unseen=4, rows_per_class=3)
    assert set(taking_part(data, "seen")) == set(data.seen)
    assert taking_part(data, "all").size == 10


def test_rows_stay_with_their_labels() -> None:
    data = published()
    division = drawn(data, "seen", 3)
    for name in division.classes.names:
        assert np.array_equal(division.X[division.y == name], data.X[data.y == name])
        assert np.array_equal(
            division.classes.select([name]).vectors, data.classes.select([name]).vectors
        )


def test_all_classes_take_part_in_the_end() -> None:
    division = drawn(published(), "all", 0)
    assert division.classes.n_classes == 15
    assert division.unseen.size == 3


def test_divisions_differ_and_repeat() -> None:
    data = published()
    draws = [tuple(drawn(data, "seen", n).unseen) for n in range(n_divisions(data, "seen"))]
    assert len(set(draws)) == len(draws) == 45
    assert tuple(drawn(data, "seen", 7).unseen) == draws[7]


def test_data_of_the_same_classes_have_the_same_divisions() -> None:
    data = published()
    other = replace(data, X=np.random.default_rng(1).normal(size=(data.y.size, 9)))
    assert np.array_equal(drawn(data, "seen", 4).unseen, drawn(other, "seen", 4).unseen)


def test_fewer_rows_of_each_class() -> None:
    data = published()
    fewer = capped(data, 3, seed=0)
    names, counts = np.unique(fewer.y, return_counts=True)
    assert names.tolist() == np.unique(data.y).tolist()
    assert counts.tolist() == [3] * 15
    for x, y in zip(fewer.X, fewer.y, strict=True):
        assert (data.X[data.y == y] == x).all(axis=1).any()
    assert not np.array_equal(capped(data, 3, seed=1).X, fewer.X)
    assert np.array_equal(capped(data, 3, seed=0).X, fewer.X)
    assert capped(data, 8, seed=0) is data


def test_a_division_is_known_by_the_files_of_all_rows() -> None:
    """Else a log would take it for another data set, and measure it again."""
    data = make_zero_shot(n_seen=8, n_unseen=2, rows_per_class=4)
    assert sources(drawn(data, "seen", 0)) == sources(data) == sources(capped(data, 2, 0))


def test_too_few_classes_are_refused() -> None:
    data = make_zero_shot(n_seen=3, n_unseen=4, rows_per_class=3)
    with pytest.raises(InputError, match=r"3 classes that no split keeps.*--inside all"):
        drawn(data, "seen", 0)
    assert drawn(data, "all", 0).unseen.size == 2


def test_one_row_of_each_class_is_refused() -> None:
    with pytest.raises(InputError, match="take at least 2"):
        capped(published(), 1, 0)


@pytest.mark.parametrize("changes", [{}, {"inside": "seen"}, {"inside": "all", "most_rows": 10}])
def test_a_job_opens_its_division(changes: dict[str, Any]) -> None:
    data = opened(Job("synthetic", trial=1, **changes))
    sizes = {"": (20, 5), "seen": (16, 4), "all": (20, 5)}
    assert (data.seen.size, data.unseen.size) == sizes[changes.get("inside", "")]
    assert np.unique(data.y, return_counts=True)[1].max() == changes.get("most_rows", 50)


def test_keys_of_jobs_without_random_splits_are_those_of_older_logs() -> None:
    plain = Job("synthetic", method="eszsl")
    keys = {plain.key("eszsl"), plain._replace(inside="seen").key("eszsl")}
    keys |= {plain._replace(inside="all").key("eszsl"), plain._replace(most_rows=9).key("eszsl")}
    assert len(keys) == 4
    assert keys >= {plain._replace(inside="", most_rows=0).key("eszsl")}
