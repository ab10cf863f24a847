"""DAP against the product of probabilities written out, and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from tests.common.scalers import ROWS_AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import DAP


def test_equals_the_product_of_probabilities_written_out() -> None:
    data = make_zero_shot(
        n_seen=6, n_unseen=3, rows_per_class=12, n_features=9, n_attributes=5, dtype=np.float64
    )
    X, y = data.training_set()
    model = DAP(1e-2, **ROWS_AS_GIVEN).fit(X, y, classes=data.classes)
    strength = 1 / (1e-2 * np.sum((X - X.mean(axis=0)) ** 2))
    seen = data.classes.select(data.seen).vectors
    rows = data.unseen_set()[0][:10]
    product = np.ones((10, 3))
    for m in range(5):
        has = {c: data.classes.vector(c)[m] > seen[:, m].mean() for c in data.classes.names}
        peer = LogisticRegression(C=strength, tol=1e-9, max_iter=20_000)
        p = peer.fit(X, np.array([has[c] for c in y])).predict_proba(rows)[:, 1]
        prior = np.mean([has[c] for c in data.seen])
        for k, z in enumerate(data.unseen):
            product[:, k] *= p / prior if has[z] else (1 - p) / (1 - prior)
    np.testing.assert_allclose(model.similarities(rows, data.unseen), np.log(product), atol=2e-3)


def by_hand() -> DAP:
    """Means 0.5, 3 and 7: the first attribute is had by b and c, the second by c, none the third.

    Every row has the first with probability 0.9 and the second with probability 0.2.
    """
    table = ClassTable(["a", "b", "c"], [[0.1, 1.0, 7.0], [0.6, 2.0, 7.0], [0.8, 6.0, 7.0]])
    X = np.random.default_rng(0).standard_normal((9, 4))
    model = DAP().fit(X, np.repeat(["a", "b", "c"], 3), classes=table)
    model.weights_ = np.zeros((4, 2))
    model.bias_ = logit([0.9, 0.2])
    return model


NEW = {"first": [0.9, 0.0, 7.0], "second": [0.4, 3.1, 99.0]}


def test_worked_by_hand() -> None:
    """Priors 2/3 and 1/3: 0.9 / (2/3) · 0.8 / (2/3), and 0.1 / (1/3) · 0.2 / (1/3)."""
    model = by_hand()
    np.testing.assert_array_equal(model.attributes_, [0, 1])
    np.testing.assert_allclose(model.shares_, [2 / 3, 1 / 3])
    scores = model.similarities(np.ones((1, 4)), NEW)
    np.testing.assert_allclose(np.exp(scores), [[1.62, 0.18]])


def test_prior_of_one_half_is_obeyed_without_a_new_fit() -> None:
    """0.9 · 0.8 · 4, and 0.1 · 0.2 · 4."""
    model = by_hand().set_params(prior="half")
    scores = model.similarities(np.ones((1, 4)), NEW)
    np.testing.assert_allclose(np.exp(scores), [[2.88, 0.08]])
    assert model.test_time_parameters == {"prior"}


def test_ones_and_noughts_stay_what_they_are() -> None:
    binary = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    X = np.random.default_rng(0).standard_normal((12, 4))
    model = DAP().fit(X, np.repeat(np.arange(4), 3), classes=ClassTable(range(4), binary))
    np.testing.assert_array_equal(model.transform_classes("seen")[:, :-1], binary)


def test_certain_rows_have_finite_scores() -> None:
    model = by_hand()
    for size in (1e3, 1e30):
        model.bias_ = np.array([size, -size])
        assert np.isfinite(model.similarities(np.ones((1, 4), np.float32), NEW)).all()


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40, n_attributes=60)
    model = DAP().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.7
    assert model.weights_.dtype == np.float32


def test_refuses_bad_parameters() -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    for bad in (0, -1, float("nan"), None, True):
        with pytest.raises(InputError, match="penalty must be a positive number"):
            DAP().set_params(penalty=bad).fit(*data.training_set(), classes=data.classes)
    with pytest.raises(InputError, match="prior must be 'classes' or 'half', not 'flat'"):
        DAP(prior="flat").fit(*data.training_set(), classes=data.classes)
