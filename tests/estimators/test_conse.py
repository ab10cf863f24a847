"""ConSE against scikit-learn with the average written out, and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.common.scalers import AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import ConSE
from unseen.estimators.conse import keep_largest
from unseen.rows import ClassScaler


def test_equals_the_average_written_out() -> None:
    data = make_zero_shot(n_seen=6, n_unseen=3, rows_per_class=12, n_features=9, dtype=np.float64)
    X, y = data.training_set()
    model = ConSE(3, 1e-2, **AS_GIVEN)
    model.fit(X, y, classes=data.classes)
    strength = 1 / (1e-2 * np.sum((X - X.mean(axis=0)) ** 2))
    peer = LogisticRegression(C=strength, tol=1e-9, max_iter=20_000).fit(X, y)
    seen, other = data.classes.select(peer.classes_).vectors, data.classes.select(data.unseen)
    rows = data.unseen_set()[0][:20]
    for row, p in zip(model.similarities(rows, other), peer.predict_proba(rows), strict=True):
        top = sorted(range(6), key=lambda c: p[c])[-3:]
        mean = sum(p[c] * seen[c] for c in top) / sum(p[c] for c in top)
        cosines = other.vectors @ mean
        cosines /= np.linalg.norm(other.vectors, axis=1) * np.linalg.norm(mean)
        np.testing.assert_allclose(row, cosines, atol=1e-4)


def by_hand() -> ConSE:
    """Three classes of probability 0.6, 0.3 and 0.1 for every row."""
    rng = np.random.default_rng(0)
    table = ClassTable(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    model = ConSE(2, class_scaler=ClassScaler(center=False)).fit(
        rng.standard_normal((9, 4)), np.repeat(["a", "b", "c"], 3), classes=table
    )
    model.weights_ = np.zeros((4, 3))
    model.bias_ = np.log([0.6, 0.3, 0.1])
    return model


def test_worked_by_hand() -> None:
    """T = 2: f = 0.6 (1, 0) + 0.3 (0, 1), along (2, 1)/√5. With (3, 4)/5 the cosine is 10/(5√5)."""
    model = by_hand()
    scores = model.similarities(np.ones((1, 4)), {"new": [3.0, 4.0], "far": [-1.0, 2.0]})
    np.testing.assert_allclose(scores, [[2 / np.sqrt(5), 0.0]], atol=1e-12)


def test_number_of_classes_is_obeyed_without_a_new_fit() -> None:
    """T = 1: f = (1, 0), cosine 0.6. T = 3: f = (0.6, 0.3 - 0.1), cosine 2.6 / 5 / √0.4."""
    model, rows = by_hand(), np.ones((1, 4))
    new = {"new": [3.0, 4.0]}
    assert model.set_params(n_top=1).similarities(rows, new)[0, 0] == pytest.approx(0.6)
    everything = 2.6 / 5 / np.sqrt(0.4)
    assert model.set_params(n_top=3).similarities(rows, new)[0, 0] == pytest.approx(everything)
    assert model.set_params(n_top=50).similarities(rows, new)[0, 0] == pytest.approx(everything)
    assert model.test_time_parameters == {"n_top"}


def test_keep_largest_equals_a_sort() -> None:
    P = np.random.default_rng(1).random((40, 11)).astype(np.float32)
    for number in (1, 4, 11, 12):
        kept = keep_largest(P, number)
        assert kept.dtype == np.float32
        for row, original in zip(kept, P, strict=True):
            smallest = np.sort(original)[::-1][: min(number, 11)][-1]
            np.testing.assert_array_equal(row, np.where(original >= smallest, original, 0))


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = ConSE().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.7
    assert model.transform(data.X[:3]).dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(model.transform(data.X[:9]), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("n_top", 0, "whole number of at least 1"),
        ("n_top", 2.5, "whole number of at least 1"),
        ("penalty", 0, "positive number"),
        ("penalty", None, "positive number"),
    ],
)
def test_refuses_bad_parameters(name: str, bad: object, message: str) -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match=f"{name} must be a {message}"):
        ConSE().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
