"""COSTA against scikit-learn's one-against-all classifiers, and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from tests.common.scalers import AS_GIVEN
from unseen import COSTA, ClassTable, InputError, make_zero_shot


def test_equals_classifiers_of_scikit_learn_combined() -> None:
    data = make_zero_shot(n_seen=5, n_unseen=3, rows_per_class=15, n_features=8, dtype=np.float64)
    X, y = data.training_set()
    model = COSTA(3.0, 1e-2, **AS_GIVEN)
    model.fit(X, y, classes=data.classes)
    strength = 1 / (1e-2 * np.sum((X - X.mean(axis=0)) ** 2))
    rows, total = data.unseen_set()[0], 0.0
    for name in data.seen.tolist():
        w = LogisticRegression(C=strength, tol=1e-9, max_iter=20_000).fit(X, y == name).coef_[0]
        total = total + np.outer(rows @ w, beta(data.classes, data.seen, data.unseen, name))
    found = model.similarities(rows, data.unseen)
    np.testing.assert_allclose(found, total, atol=1e-4 * np.ptp(found))


@pytest.mark.parametrize("n_features", [8, 100])
def test_closed_form_equals_ridge_regression_of_scikit_learn(n_features: int) -> None:
    data = make_zero_shot(
        n_seen=5, n_unseen=3, rows_per_class=15, n_features=n_features, dtype=np.float64
    )
    X, y = data.training_set()
    model = COSTA(3.0, 1e-2, "ridge", **AS_GIVEN).fit(X, y, classes=data.classes)
    strength = 1e-2 * np.sum((X - X.mean(axis=0)) ** 2)
    for k, name in enumerate(data.seen.tolist()):
        w = Ridge(strength).fit(X, y == name).coef_ * len(y) / np.sum(y == name)
        within = X @ (model.weights_[:, k] - w)  # outside of the span of rows W is free
        np.testing.assert_allclose(within - within.mean(), 0, atol=1e-9 * np.ptp(X @ w))


def test_closed_form_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = COSTA(penalty=0.01, classifier="ridge")
    assert model.fit(*data.training_set(), classes=data.classes).score(*data.unseen_set()) > 0.8
    assert model.weights_.dtype == np.float32
    with pytest.raises(InputError, match="classifier must be"):
        COSTA(classifier="nosuch").fit(*data.training_set(), classes=data.classes)


def beta(table: ClassTable, seen: np.ndarray, unseen: np.ndarray, name: str) -> np.ndarray:
    """β of one seen class for each unseen one, by cosines to the third power."""

    def alike(a: str, b: str) -> float:
        s, t = table.vector(a), table.vector(b)
        return max(0.0, float(s @ t / np.linalg.norm(s) / np.linalg.norm(t))) ** 3

    lengths = [np.sqrt(sum(alike(u, c) ** 2 for c in seen)) for u in unseen]
    return np.array([alike(u, name) / r for u, r in zip(unseen, lengths, strict=True)])


def by_hand() -> COSTA:
    """Classes along (1, 0), (0, 1) and (0, -1); the classifiers are the columns of W."""
    rng = np.random.default_rng(0)
    table = ClassTable(["a", "b", "c"], [[2.0, 0.0], [0.0, 5.0], [0.0, -1.0]])
    model = COSTA(**AS_GIVEN)
    model.fit(rng.standard_normal((9, 2)), np.repeat(["a", "b", "c"], 3), classes=table)
    model.weights_ = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    return model


def test_worked_by_hand() -> None:
    """(3, 4): cosines 0.6, 0.8 and -0.8; squares 0.36 and 0.64, of length √(0.1296 + 0.4096).
    The row (1, 1) has 3, 30 and 300 with the classifiers."""
    scores = by_hand().similarities(np.ones((1, 2)), {"new": [3.0, 4.0]})
    assert scores[0, 0] == pytest.approx((0.36 * 3 + 0.64 * 30) / np.sqrt(0.5392))


def test_sharpness_is_obeyed_without_a_new_fit() -> None:
    model = by_hand().set_params(sharpness=1.0)
    scores = model.similarities(np.ones((1, 2)), {"new": [3.0, 4.0]})
    assert scores[0, 0] == pytest.approx(0.6 * 3 + 0.8 * 30)
    assert model.test_time_parameters == {"sharpness"}


def test_a_class_unlike_all_seen_ones_takes_a_little_of_each() -> None:
    codes = by_hand().transform_classes({"opposite": [-1.0, 0.0]})
    np.testing.assert_allclose(codes, np.full((1, 3), 1 / np.sqrt(3)))


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = COSTA().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.8
    assert model.weights_.dtype == np.float32


@pytest.mark.parametrize("bad", [0, -1, float("nan"), "abc", None, True])
@pytest.mark.parametrize("name", ["sharpness", "penalty"])
def test_refuses_bad_parameters(name: str, bad: object) -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match=f"{name} must be a positive number"):
        COSTA().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
