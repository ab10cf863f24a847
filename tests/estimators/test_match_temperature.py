"""The temperature that a fit of GaussianMatch learns from its own means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax

import unseen
from tests.oracles.gaussian import Oracle
from unseen import ClassTable, GaussianMatch, make_zero_shot, open_rows
from unseen.classes import ClassHoldout
from unseen.estimators import match_temperature as module
from unseen.estimators.match_temperature import some_of_each, stretches_of
from unseen.training.gaussian import Settings, fit_posterior

SETTINGS = Settings(misfit=0.02, width=1.0, stretch=0.6, spread=0.0, tails=30.0)


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(
        40, 12, 30, n_features=40, n_attributes=24, noise=0.8, table_noise=0.5, random_state=5
    )


@pytest.fixture(scope="module")
def model(data: Any) -> Any:
    return GaussianMatch().fit(*data.training_set(), classes=data.classes)


def right(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The mean log-probability of the right class."""
    p = model.predict_proba(X, np.unique(y).tolist())
    return float(np.log(p[np.arange(y.size), np.searchsorted(np.unique(y), y)]).mean())


def test_unseen_classes_are_neither_too_sure_nor_too_little(data: Any, model: Any) -> None:
    X, y = data.unseen_set()
    assert model.temperature_ > 1.2
    sure, plain = model.predict_proba(X).max(axis=1), softmax(model.similarities(X), axis=1)
    share = np.mean(model.predict(X) == y)
    assert abs(sure.mean() - share) < 0.5 * abs(plain.max(axis=1).mean() - share)
    assert (
        right(model, X, y) > np.log(plain[np.arange(y.size), model.classes_.searchsorted(y)]).mean()
    )


def test_it_is_near_what_training_without_the_classes_would_tell(data: Any, model: Any) -> None:
    """The best T of models that were trained anew, on rows of classes held out of them."""
    X, y = data.training_set()
    table = data.classes.select(data.seen)
    logs, scales = np.linspace(-0.5, 1.5, 81), []
    for train, test in ClassHoldout(8, 5, 3).split(X, y):
        names = np.unique(y[train])
        other = GaussianMatch().fit(X[train], y[train], classes=table.select(names)).reveal(table)
        found = []
        for log in logs:
            other.temperature_ = float(np.exp(log))
            found.append(right(other, X[test], y[test]))
        scales.append(logs[int(np.argmax(found))])
    assert model.temperature_ == pytest.approx(np.exp(np.mean(scales)), rel=0.25)


def test_narrowed_directions_are_those_of_fewer_classes() -> None:
    """With covariance I within classes, the oracle finds the same model from the codes."""
    rng = np.random.default_rng(2)
    means, counts = 2 * rng.standard_normal((9, 6)), np.full(9, 50)
    S = rng.standard_normal((9, 4))
    found = module._narrowed(means, counts)
    smaller = fit_posterior(found, S, SETTINGS)
    # 50 rows a class with these means and a covariance of exactly I.
    around = np.vstack([np.eye(6), -np.eye(6)] * 4 + [np.zeros((2, 6))])
    around *= np.sqrt((9 * 50 - 9) / (9 * 8))
    y, X = np.repeat(np.arange(9), 50), (means[:, None] + around).reshape(-1, 6)
    oracle = Oracle(X, y, S, 0.0, SETTINGS.misfit, SETTINGS.width, 6)
    new, s = rng.standard_normal((5, 6)), rng.standard_normal((1, 4))
    expected, v = oracle.predict(s[0])
    got, its_v = smaller.predict(s)
    away = oracle.codes(new) - oracle.stretched(expected, SETTINGS.stretch)
    np.testing.assert_allclose(
        np.sum((smaller.codes(new) - got) ** 2, axis=1), np.sum(away**2, axis=1), rtol=1e-9
    )
    np.testing.assert_allclose(np.sort(its_v[0]), np.sort(v), rtol=1e-9)


@given(st.integers(1, 10**9))
def test_stretches_are_rows_in_order_and_not_many(n_rows: int) -> None:
    rows = stretches_of(n_rows)
    assert rows.size == min(n_rows, 16 * 1024)
    assert rows[0] == 0
    assert rows[-1] == n_rows - 1
    assert (np.diff(rows) > 0).all()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=300))
def test_some_rows_of_each_class(labels: list[int]) -> None:
    y = np.array(labels)
    numbers, few = some_of_each(y)
    np.testing.assert_array_equal(numbers, np.unique(y))
    assert (np.diff(few) > 0).all()
    counts = np.bincount(y[few], minlength=31)
    np.testing.assert_array_equal(counts, np.minimum(np.bincount(y, minlength=31), 12))


def test_few_classes_tell_nothing_and_a_new_fit_forgets(data: Any) -> None:
    X, y = data.training_set()
    few = np.isin(y, data.seen[:3])
    model = GaussianMatch().fit(X, y, classes=data.classes)
    model.fit(X[few], y[few], classes=data.classes)
    assert "temperature_" not in vars(model)
    new = data.unseen_set()[0]
    np.testing.assert_allclose(
        model.predict_proba(new), softmax(model.similarities(new), axis=1), rtol=1e-5
    )


def test_scale_and_order_of_rows_and_classes_do_not_matter(data: Any, model: Any) -> None:
    X, y = data.training_set()
    other = GaussianMatch().fit(8 * X, y, classes=data.classes)
    assert other.temperature_ == pytest.approx(model.temperature_, rel=1e-4)
    names = {name: f"z{99 - k}" for k, name in enumerate(data.classes.names)}
    table = ClassTable([names[name] for name in data.classes.names], data.classes.vectors)
    order = np.random.default_rng(0).permutation(y.size)
    y_new = np.array([names[name] for name in y])
    other = GaussianMatch().fit(X[order], y_new[order], classes=table)
    assert other.temperature_ == pytest.approx(model.temperature_, rel=0.15)  # other draws


def test_rows_wider_than_many(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data.training_set()
    few = np.random.default_rng(0).permutation(y.size)[:400]
    wide = np.hstack([X, np.random.default_rng(1).standard_normal((X.shape[0], 500))])[few]
    expected = GaussianMatch().fit(wide, y[few], classes=data.classes).temperature_
    monkeypatch.setattr("unseen.estimators.gaussian_match._WIDEST", 100)
    found = GaussianMatch().fit(wide, y[few], classes=data.classes)
    assert found.temperature_ == pytest.approx(expected, rel=1e-3)


def test_rows_in_a_store_give_the_same(data: Any, model: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    np.save(tmp_path / "rows.npy", X)
    found = GaussianMatch().fit(open_rows(tmp_path / "rows.npy"), y, classes=data.classes)
    assert found.temperature_ == pytest.approx(model.temperature_, rel=1e-6)


def test_batches_learn_it_from_rows_of_many_classes(data: Any, model: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    order = np.random.default_rng(0).permutation(y.size)
    found = GaussianMatch()
    for part in np.array_split(order, 3):
        found.partial_fit(X[part], y[part], classes=data.classes)
    assert found.temperature_ == pytest.approx(model.temperature_, rel=0.2)
    known = found.temperature_
    found.partial_fit(X[y == y[0]], y[y == y[0]])  # one class tells nothing of all
    assert found.temperature_ == known
    found.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert loaded.temperature_ == known
    loaded.calibrate_seen(X, y).partial_fit(X, y)
    assert loaded.temperature_ != known
    learned = loaded.temperature_
    assert loaded.partial_fit(X, y).temperature_ == learned


def test_probabilities_of_pairs_are_not_too_sure_either(data: Any, model: Any) -> None:
    (X, y), candidates = data.unseen_set(), model.classes_
    S, prior = data.classes.select(candidates), 1 / candidates.size
    is_match = candidates == y[:, None]
    p = np.clip(model.pair_probabilities(S, X, prior), 1e-9, 1 - 1e-9)
    plain = np.clip(expit(model.score_pairs(S, X) + logit(prior)), 1e-9, 1 - 1e-9)
    loss = [-np.mean(np.log(np.where(is_match, q, 1 - q))) for q in (p, plain)]
    assert loss[0] < loss[1]
    assert ((p >= prior) == (model.predict_pairs(S, X) == 1)).all()
    one = model.explain(X[0], candidates[0])
    assert one.probability == pytest.approx(model.pair_probabilities(S, X[:1])[0, 0])
