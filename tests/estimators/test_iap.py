"""IAP against the sum over seen classes written out, and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.common.scalers import ROWS_AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import IAP, dap


def test_equals_the_sum_over_seen_classes_written_out() -> None:
    data = make_zero_shot(
        n_seen=6, n_unseen=3, rows_per_class=12, n_features=9, n_attributes=5, dtype=np.float64
    )
    X, y = data.training_set()
    model = IAP(1e-1, **ROWS_AS_GIVEN).fit(X, y, classes=data.classes)
    strength = 1 / (1e-1 * np.sum((X - X.mean(axis=0)) ** 2))
    peer = LogisticRegression(C=strength, tol=1e-9, max_iter=20_000).fit(X, y)
    rows = data.unseen_set()[0][:10]
    posterior = peer.predict_proba(rows)
    middle = data.classes.select(data.seen).vectors.mean(axis=0)
    expected = np.zeros((10, 3))
    for m in range(5):
        has = [data.classes.vector(c)[m] > middle[m] for c in peer.classes_]
        p = posterior[:, has].sum(axis=1)
        for k, z in enumerate(data.unseen):
            own = data.classes.vector(z)[m] > middle[m]
            prior = np.mean(has) if own else 1 - np.mean(has)
            expected[:, k] += np.log((p if own else 1 - p) / prior)
    np.testing.assert_allclose(model.similarities(rows, data.unseen), expected, atol=0.02)


def test_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes a, b, c with attributes 10, 11, 01 have probabilities 0.5, 0.3 and 0.2: the first
    attribute 0.8, the second 0.5; both have the prior 2/3."""
    monkeypatch.setattr(dap, "_DOUBT", 0.0)
    table = ClassTable(["a", "b", "c"], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    X = np.random.default_rng(0).standard_normal((9, 4))
    model = IAP().fit(X, np.repeat(["a", "b", "c"], 3), classes=table)
    model.weights_ = np.zeros((4, 3))
    model.bias_ = np.log([0.5, 0.3, 0.2])
    new = {"neither": [0.2, 0.1], "second": [0.0, 0.9]}
    scores = model.similarities(np.ones((1, 4)), new)
    expected = [[0.2 / (1 / 3) * 0.5 / (1 / 3), 0.2 / (1 / 3) * 0.5 / (2 / 3)]]
    np.testing.assert_allclose(np.exp(scores), expected)
    scores = model.set_params(prior="half").similarities(np.ones((1, 4)), new)
    np.testing.assert_allclose(np.exp(scores), [[0.4, 0.4]])


def test_a_certain_class_leaves_a_little_doubt() -> None:
    data = make_zero_shot(n_seen=6)
    model = IAP().fit(*data.training_set(), classes=data.classes)
    model.bias_ = np.array([1e4, 0, 0, 0, 0, 0], dtype=np.float32)
    scores = model.similarities(data.X[:5], "all")
    assert np.isfinite(scores).all()
    assert scores.dtype == np.float32
    assert (scores.argmax(axis=1) == 0).all()


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40, n_attributes=60)
    model = IAP().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.6


def test_refuses_bad_parameters() -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match="penalty must be a positive number"):
        IAP(0.0).fit(*data.training_set(), classes=data.classes)
    with pytest.raises(InputError, match="prior must be 'classes' or 'half'"):
        IAP(prior="flat").fit(*data.training_set(), classes=data.classes)
