"""SAE against a general Sylvester solver, its objective, and a case worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.common.scalers import AS_GIVEN
from unseen import SAE, ClassTable, InputError, make_zero_shot


def scaled(X: np.ndarray, S: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the descriptions of their classes, both of mean square length one."""
    S = S[labels]
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1))), S / np.sqrt(np.mean(np.sum(S**2, axis=1)))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(8, 40),
    d_t=st.integers(1, 50),
    d_s=st.integers(1, 12),
    n_classes=st.integers(2, 6),
    weight=st.sampled_from([0.01, 1.0, 100.0]),
)
def test_equals_a_general_sylvester_solver(
    seed: int, n_rows: int, d_t: int, d_s: int, n_classes: int, weight: float
) -> None:
    rng = np.random.default_rng(seed)
    X, S = rng.standard_normal((n_rows, d_t)), rng.standard_normal((n_classes, d_s))
    labels = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
    W = SAE(weight, **AS_GIVEN).fit(X, labels, classes=ClassTable(range(n_classes), S)).weights_
    X, S = scaled(X, S, labels)
    # A little on the diagonal where both sides are singular: the solution of least length.
    A, B = S.T @ S + 1e-9 * np.eye(d_s), weight * X.T @ X
    expected = scipy.linalg.solve_sylvester(A, B, (1 + weight) * S.T @ X)
    np.testing.assert_allclose(W, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_minimises_its_objective() -> None:
    rng = np.random.default_rng(0)
    X, S, labels = rng.standard_normal((30, 5)), rng.standard_normal((4, 3)), np.arange(30) % 4
    W = SAE(0.3, **AS_GIVEN).fit(X, labels, classes=ClassTable(range(4), S)).weights_
    X, S = scaled(X, S, labels)

    def objective(W: np.ndarray) -> float:
        return np.sum((X - S @ W) ** 2) + 0.3 * np.sum((X @ W.T - S) ** 2)

    for _ in range(50):
        assert objective(W + 1e-3 * rng.standard_normal(W.shape)) > objective(W)


def by_hand(direction: str) -> SAE:
    """One attribute s = 1 or -1, rows (s, 0) and (s, 1), (s, -1) in turn."""
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    table = ClassTable(["plus", "minus"], [[1.0], [-1.0]])
    model = SAE(2.0, direction=direction, **AS_GIVEN)
    return model.fit(X, ["plus"] * 3 + ["minus"] * 3, classes=table)


def test_worked_by_hand() -> None:
    """Mean |x|² is 5/3. S'S/N = 1, X'X/N = diag(3/5, 2/5), S'X/N = (√(3/5), 0): with λ = 2 the
    equation is W + 2 W diag(3/5, 2/5) = 3 (√(3/5), 0), so W = (3 √0.6 / 2.2, 0)."""
    np.testing.assert_allclose(by_hand("visual").weights_, [[3 * np.sqrt(0.6) / 2.2, 0]])


def test_both_directions_worked_by_hand() -> None:
    """Ws is along the first axis: the cosine with (3, 4) is 0.6 for s > 0. Wx is positive, and the
    cosine of two numbers is their sign."""
    row = np.array([[3.0, 4.0]])
    visual, semantic = by_hand("visual"), by_hand("semantic")
    np.testing.assert_allclose(visual.similarities(row, ["plus", "minus"]), [[0.6, -0.6]])
    np.testing.assert_allclose(semantic.similarities(row, ["plus", "minus"]), [[1, -1]])
    turned = visual.set_params(direction="semantic")
    np.testing.assert_allclose(turned.similarities(row, ["plus", "minus"]), [[1, -1]])
    assert visual.test_time_parameters == {"direction"}


@pytest.mark.parametrize("direction", ["visual", "semantic"])
def test_recognises_unseen_classes(direction: str) -> None:
    data = make_zero_shot(n_seen=40)
    model = SAE(direction=direction).fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.8
    assert model.weights_.dtype == np.float32


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_zero_shot(dtype=np.float64)
    X, y = data.training_set()
    whole = SAE().fit(X, y, classes=data.classes)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (7 * X.shape[1] * 8,))
    blocked = SAE().fit(X, y, classes=data.classes)
    np.testing.assert_allclose(blocked.weights_, whole.weights_, rtol=1e-6, atol=1e-9)


def test_a_weight_means_the_same_for_repeated_rows() -> None:
    data = make_zero_shot(dtype=np.float64)
    X, y = data.training_set()
    once = SAE().fit(X, y, classes=data.classes)
    twice = SAE().fit(np.r_[X, X], np.r_[y, y], classes=data.classes)
    np.testing.assert_allclose(twice.weights_, once.weights_, rtol=1e-6, atol=1e-9)


def test_ten_thousand_attributes_are_no_burden() -> None:
    data = make_zero_shot(n_attributes=10_000)
    assert SAE().fit(*data.training_set(), classes=data.classes).score(*data.unseen_set()) > 0.5


def test_refuses_bad_parameters() -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    for bad in (0, -1, float("nan"), float("inf"), "abc", None, True):
        with pytest.raises(InputError, match="encoder_weight must be a positive number"):
            SAE().set_params(encoder_weight=bad).fit(*data.training_set(), classes=data.classes)
    with pytest.raises(InputError, match="direction must be 'visual' or 'semantic', not 'up'"):
        SAE(direction="up").fit(*data.training_set(), classes=data.classes)
