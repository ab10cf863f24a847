"""SSE against its formulas written out, a case worked by hand and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from tests.common.scalers import AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators.sse import (
    SSE,
    Margins,
    SSEIntersection,
    SSEReLU,
    class_means,
    excess,
    excess_by_weights,
    rows_above,
)

BOTH = pytest.mark.parametrize("kind", [SSEIntersection, SSEReLU])


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(dtype=np.float64)


def problem(sign: float, dtype: type = np.float64) -> Margins:
    """Random rows of three classes with mixed codes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 7)).astype(dtype)
    Z = rng.dirichlet(np.ones(3), 3)
    labels = np.r_[0, 1, 2, rng.integers(0, 3, 17)]
    margins = Margins(X, labels, Z, sign, rng.standard_normal((3, 7)).astype(dtype), 0.03, 0.02)
    margins.w = rng.standard_normal(7).astype(dtype)
    margins.V = rng.standard_normal((3, 7)).astype(dtype)
    return margins


def written_out(margins: Margins, transform: Any) -> float:
    """The objective as the docstring prints it, loop by loop."""
    X, labels, Z = margins.X, margins.own[1], margins.Z
    w, V, n_classes = margins.w, margins.V, Z.shape[0]
    total = 0.0
    for x, own in zip(X, labels, strict=True):
        pi = [w @ transform(x, v) for v in V]
        f = [sum(Z[u, s] * pi[s] for s in range(n_classes)) for u in range(n_classes)]
        loss = sum(max(0.0, 1 - f[own] + f[y]) ** 2 for y in range(n_classes) if y != own)
        total += loss / np.sum(labels == own) / n_classes**2
    return total + 0.03 / 2 * w @ w + 0.02 / 2 * np.sum((V - margins.start) ** 2)


def intersection(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.minimum(x, v)


def relu(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.maximum(0, x - v)


def test_objective_worked_by_hand() -> None:
    """Two classes, one column, pure codes, w = 2, v = (0, 1), φ = max(0, x - v).

    Row 3 of class 0: π = (6, 4), slack 1 - 6 + 4 < 0. Row 1/2 of class 1: π = (1, 0), slack
    1 - 0 + 1 = 2. So 1/4 (0 + 2²) = 1, plus 0.1/2 · 2² = 0.2, plus 0.5/2 · (0² + 1²) = 0.25.
    """
    X, labels = np.array([[3.0], [0.5]]), np.array([0, 1])
    margins = Margins(X, labels, np.eye(2), 1.0, np.zeros((2, 1)), 0.1, 0.5)
    margins.w, margins.V = np.array([2.0]), np.array([[0.0], [1.0]])
    assert margins.by_weights(margins.w)[0] == pytest.approx(1.45)
    # The slack of 2 falls by 2·(1/2 - 0) in π_0 for each unit of w; nothing else is active.
    assert margins.by_weights(margins.w)[1] == pytest.approx([2 * 2 * 0.5 / 4 + 0.1 * 2])


@pytest.mark.parametrize(("sign", "transform"), [(-1.0, intersection), (1.0, relu)])
def test_objective_equals_the_loop_for_both_transforms(sign: float, transform: Any) -> None:
    margins = problem(sign)
    expected = written_out(margins, transform)
    assert margins.by_weights(margins.w)[0] == pytest.approx(expected)
    assert margins.by_vectors(margins.V)[0] == pytest.approx(expected)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_gradients_against_finite_differences(sign: float) -> None:
    margins = problem(sign)
    for part, point in ((margins.by_weights, margins.w), (margins.by_vectors, margins.V.ravel())):
        error = check_grad(
            lambda p, part=part: part(p)[0], lambda p, part=part: part(p)[1].ravel(), point
        )
        assert error < 1e-5 * max(1.0, float(np.linalg.norm(part(point)[1])))


def test_the_step_of_w_reaches_the_minimum_of_a_general_solver() -> None:
    margins = problem(1.0)
    best = minimize(lambda w: margins.by_weights(w)[0], np.zeros(7), method="Powell", tol=1e-10)
    margins.w = np.zeros(7)
    history = margins.alternate(1, 200)
    assert history[1] == pytest.approx(best.fun, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_objective_never_rises(dtype: type) -> None:
    history = problem(-1.0, dtype).alternate(4, 6)
    assert (np.diff(history) <= 0).all()
    assert history[-1] < 0.8 * history[1]


def test_rows_wider_than_a_tile_and_more_of_them() -> None:
    rng = np.random.default_rng(1)
    X, V, G = (rng.standard_normal(s) for s in ((150, 1300), (4, 1300), (150, 4)))
    w = rng.standard_normal(1300)
    above = X[:, None] - V
    np.testing.assert_allclose(excess(X, V, w), np.maximum(above, 0) @ w)
    np.testing.assert_allclose(
        excess_by_weights(X, V, G), np.einsum("is,isk->k", G, np.maximum(above, 0))
    )
    np.testing.assert_allclose(rows_above(X, V, G), np.einsum("is,isk->sk", G, above > 0))


@BOTH
def test_scores_equal_the_formula(kind: type[SSE], data: Any) -> None:
    model = kind().fit(*data.training_set(), classes=data.classes)
    transform = intersection if kind is SSEIntersection else relu
    X = data.unseen_set()[0][:6]
    Z = model.transform_classes()
    rows = model.scaling_(X)
    slow = [
        [sum(z[s] * model.weights_ @ transform(x, v) for s, v in enumerate(model.vectors_))
         for z in Z]
        for x in rows
    ]  # fmt: skip
    np.testing.assert_allclose(model.similarities(X), slow, rtol=1e-9, atol=1e-9)


@BOTH
def test_codes_of_classes_lie_on_the_simplex_and_solve_their_problem(
    kind: type[SSE], data: Any
) -> None:
    model = kind(code_penalty=0.3).fit(*data.training_set(), classes=data.classes)
    Z, B = model.transform_classes(), model.descriptions_
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    gamma = 0.3 * np.linalg.eigvalsh(B @ B.T)[-1]
    C = model.class_scaling_(data.classes.select(model.classes_).vectors)
    # At the minimum no vertex of the simplex is a way down.
    G = gamma * Z + (Z @ B - C) @ B.T
    np.testing.assert_allclose(G.min(axis=1), np.einsum("ij,ij->i", G, Z), atol=1e-6)


def test_both_transforms_are_one_classifier_of_opposite_weights(data: Any) -> None:
    """f of ReLU with -w is f of the intersection but for <w, x>, the same for all classes."""
    model = SSEIntersection().fit(*data.training_set(), classes=data.classes)
    other: Any = SSEReLU().fit(*data.training_set(), classes=data.classes)
    other.weights_, other.vectors_ = -model.weights_, model.vectors_
    X = data.unseen_set()[0]
    shift = model.scaling_(X) @ model.weights_
    np.testing.assert_allclose(
        other.similarities(X) + shift[:, None], model.similarities(X), rtol=1e-9, atol=1e-9
    )


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_recognises_unseen_classes(kind: type[SSE], seed: int) -> None:
    data = make_zero_shot(n_seen=40, n_unseen=5, random_state=seed)
    model = kind().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.55
    assert model.similarities(data.unseen_set()[0]).dtype == np.float32
    assert (np.diff(model.history_) <= 0).all()


@BOTH
def test_two_classes_and_one_between_them(kind: type[SSE]) -> None:
    """Seen classes at (0, 4) and (4, 0), an unseen one described half by each."""
    first = np.r_[np.zeros(10), np.full(10, 4.0)] + np.tile([-0.1, 0.1], 10)
    X, y = np.stack([first, 4 - first], axis=1), np.repeat(["low", "high"], 10)
    table = ClassTable(["low", "high", "middle"], [[0.0], [1.0], [0.5]])
    model = kind(1e-6, **AS_GIVEN).fit(X, y, classes=table)
    np.testing.assert_allclose(model.transform_classes(["middle"]), [[0.5, 0.5]], atol=1e-3)
    assert model.score(X, y, candidates="seen") == 1


def test_class_means_equal_a_loop() -> None:
    rng = np.random.default_rng(2)
    X, labels = rng.standard_normal((30, 4)), np.arange(30) % 3
    slow = [X[labels == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(class_means(X, labels, 3), slow)


@BOTH
@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "abc", None, True])
@pytest.mark.parametrize(
    "name", ["code_penalty", "weight_penalty", "vector_penalty", "n_rounds", "n_steps"]
)
def test_refuses_senseless_parameters(kind: type[SSE], name: str, bad: object, data: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        kind().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
