"""LatEm: the best of several maps, maps that are dropped, and what it should do on made-up data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import unseen
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import DeViSE, LatEm
from unseen.model.ranking import sum_of_hinges
from unseen.rows.blocks import unit_rows

DATA = make_zero_shot(dtype=np.float64)


def fitted(**parameters: Any) -> LatEm:
    return LatEm(**parameters).fit(*DATA.training_set(), classes=DATA.classes)


def test_scores_are_the_best_of_the_maps() -> None:
    model = fitted(n_maps=3, least_share=0.0)
    X = model.scaling_(DATA.X[:7])
    S = model.class_scaling_(DATA.classes.select(DATA.unseen).vectors)
    maps = np.split(model.weights_, 3, axis=1)
    best = np.max([X @ V @ S.T for V in maps], axis=0)
    np.testing.assert_allclose(model.similarities(DATA.X[:7], DATA.unseen), best)
    assert model.transform(DATA.X[:7]).shape == (7, 3 * 30)


def test_history_ends_with_the_objective_of_the_weights() -> None:
    model = fitted(n_maps=2, least_share=0.0)
    X, y = DATA.training_set()
    X = unit_rows(X) - unit_rows(X).mean(axis=0)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    seen = DATA.classes.select(DATA.seen).vectors
    S = unit_rows(seen - seen.mean(axis=0))
    scores = np.max([X @ V @ S.T for V in np.split(model.weights_, 2, axis=1)], axis=0)
    losses = sum_of_hinges(scores, np.searchsorted(DATA.seen, y)).values
    objective = losses.mean() + model.penalty / 2 * np.sum(model.weights_**2)
    assert model.history_[-1] == pytest.approx(objective)
    assert model.history_[-1] < model.history_[0]


def two_sided() -> tuple[np.ndarray, np.ndarray, ClassTable]:
    """Rows of a class lie about its vector and about minus a rotation of it: no one map fits."""
    rng = np.random.default_rng(0)
    S, y = unit_rows(rng.standard_normal((12, 4))), np.repeat(np.arange(12), 20)
    second = rng.random(240) < 0.5
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = np.where(second[:, None], -S[y] @ Q, S[y]) + 0.05 * rng.standard_normal((240, 4))
    return X, y, ClassTable(range(12), S)


def test_two_maps_tell_apart_what_one_cannot() -> None:
    X, y, table = two_sided()
    one = LatEm(1e-4, n_maps=1, max_iter=60, tol=0.0).fit(X, y, classes=table)
    two = LatEm(1e-4, n_maps=2, max_iter=60, tol=0.0, spread=1.0).fit(X, y, classes=table)
    assert two.n_maps_ == 2
    assert two.score(X, y) > one.score(X, y) + 0.2
    assert two.history_[-1] < 0.7 * one.history_[-1]


def test_one_map_is_that_of_devise() -> None:
    """The same objective, so more passes from the minimum of DeViSE leave it about where it is."""
    one = fitted(n_maps=1, spread=0.0, max_iter=50)
    other = DeViSE(one.penalty, 1.0, max_iter=50).fit(*DATA.training_set(), classes=DATA.classes)
    assert one.history_[0] == pytest.approx(other.history_[-1])
    assert one.history_[-1] == pytest.approx(other.history_[-1], rel=0.05)


def test_maps_that_few_rows_choose_are_dropped() -> None:
    assert fitted(n_maps=4, least_share=0.0).n_maps_ == 4
    single = fitted(n_maps=4, least_share=1.0)
    assert single.n_maps_ == 1
    assert single.weights_.shape == (64, 30)
    assert single.get_feature_names_out().size == 30
    few = fitted(n_maps=8, least_share=0.1)
    assert 1 <= few.n_maps_ <= 10
    assert few.score(*DATA.unseen_set()) > 0.6


def test_recognises_unseen_classes_and_survives_a_file(tmp_path: Any) -> None:
    model = fitted()
    assert model.score(*DATA.unseen_set()) > 0.7
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert loaded.n_maps_ == model.n_maps_
    np.testing.assert_array_equal(loaded.similarities(DATA.X[:5]), model.similarities(DATA.X[:5]))


def test_the_seed_decides_the_maps() -> None:
    once, again, other = (fitted(random_state=seed).weights_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(once, again)
    assert once.shape != other.shape or not np.array_equal(once, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_maps", 0), ("n_maps", 1.5), ("least_share", -0.1), ("least_share", 2), ("spread", -1)],
)
def test_refuses_parameters_that_make_no_sense(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        fitted(**{name: value})
