"""Warnings where a model can be fitted and yet mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen import ESZSL, ClassTable, make_zero_shot, open_rows
from unseen.errors import InputError, TrustWarning


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(8, 3, 10, n_features=12, n_attributes=10, random_state=1)


def test_a_fit_without_a_class_table_is_an_ordinary_classifier(data: Any) -> None:
    with pytest.warns(TrustWarning, match="an ordinary classifier") as caught:
        ESZSL().fit(*data.training_set())
    assert caught[0].filename == __file__


def test_unseen_classes_that_share_nothing_with_seen_ones(data: Any) -> None:
    names = data.classes.names
    with pytest.warns(TrustWarning, match=r"has nothing in common with that of any seen class"):
        ESZSL().fit(*data.training_set(), classes=ClassTable(names, np.eye(names.size)))


def test_descriptions_below_zero_may_share_nothing_too(data: Any) -> None:
    vectors, is_seen = data.classes.vectors, np.isin(data.classes.names, data.seen)[:, None]
    apart = np.hstack([vectors * is_seen, vectors * ~is_seen])
    assert apart.min() < 0
    with pytest.warns(TrustWarning, match=r"has nothing in common with that of any seen class"):
        ESZSL().fit(*data.training_set(), classes=ClassTable(data.classes.names, apart))


def test_zero_is_a_value_like_others_where_some_are_less(data: Any) -> None:
    vectors = data.classes.vectors.copy()
    vectors[data.classes.rows(data.unseen[:1])] = 0
    assert vectors.min() < 0
    ESZSL().fit(*data.training_set(), classes=ClassTable(data.classes.names, vectors))


def test_rows_of_a_store_that_are_all_the_same(data: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    np.save(tmp_path / "rows.npy", np.ones_like(X))
    store = open_rows(tmp_path / "rows.npy")
    with pytest.warns(TrustWarning, match="all training rows are the same"):
        ESZSL().fit(store, y, classes=data.classes)


def test_classes_of_the_same_description(data: Any) -> None:
    vectors = data.classes.vectors.copy()
    vectors[-1] = vectors[0]
    first, last = data.classes.names[[0, -1]].tolist()
    with pytest.warns(TrustWarning, match=f"'{first}' and '{last}' have the same description: no"):
        ESZSL().fit(*data.training_set(), classes=ClassTable(data.classes.names, vectors))


def test_labels_that_hold_numbers_that_are_no_letters(data: Any) -> None:
    X, y = data.training_set()
    forged = np.full(len(y), 0x110000, dtype=np.uint32).view("<U1")
    with pytest.raises(InputError, match="labels: they hold numbers that are no letters"):
        ESZSL().fit(X, forged, classes=data.classes)


def test_rows_that_are_all_the_same_and_scores_that_tie(data: Any) -> None:
    X, y = data.training_set()
    with pytest.warns(TrustWarning, match="all training rows are the same"):
        model = ESZSL().fit(np.ones_like(X), y, classes=data.classes)
    with pytest.warns(TrustWarning, match="several candidates fit .* equally well.*no better than"):
        model.predict(np.ones_like(X))


def test_sound_data_bring_no_warning(data: Any) -> None:
    ESZSL().fit(*data.training_set(), classes=data.classes).predict(data.X)
