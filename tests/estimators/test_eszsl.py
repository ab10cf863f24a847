"""ESZSL against its objective, its stationarity and the explicit formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.common.scalers import AS_GIVEN
from unseen import ESZSL, ClassTable, InputError, make_zero_shot
from unseen.rows.blocks import unit_rows


def explicit(X: np.ndarray, y: np.ndarray, S: np.ndarray, gamma: float, lam: float) -> np.ndarray:
    """The closed form as Romera-Paredes and Torr print it, every matrix formed."""
    Y = np.where(y[:, None] == np.arange(S.shape[0]), 1.0, -1.0)
    left = np.linalg.inv(X.T @ X + gamma * np.eye(X.shape[1]))
    right = np.linalg.inv(S.T @ S + lam * np.eye(S.shape[1]))
    return left @ X.T @ Y @ S @ right


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(6, 40),
    d_t=st.integers(1, 50),
    d_s=st.integers(1, 12),
    n_classes=st.integers(2, 6),
)
def test_equals_the_explicit_formula(
    seed: int, n_rows: int, d_t: int, d_s: int, n_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d_t))
    S = rng.standard_normal((n_classes, d_s))
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]
    model = ESZSL(0.01, 0.1, **AS_GIVEN)
    model.fit(X, y, classes=ClassTable(range(n_classes), S))
    V = explicit(X, y, S, 0.01 * np.sum(X**2), 0.1 * np.sum(S**2))
    np.testing.assert_allclose(model.weights_, V, rtol=1e-6, atol=1e-9 * np.abs(V).max())


def test_minimises_its_objective() -> None:
    """A small step in any direction raises |XVS'-Y|² + γ|VS'|² + λ|XV|² + γλ|V|²."""
    rng = np.random.default_rng(0)
    X, S, y = rng.standard_normal((30, 5)), rng.standard_normal((4, 3)), np.arange(30) % 4
    Y = np.where(y[:, None] == np.arange(4), 1.0, -1.0)
    gamma, lam = 0.05 * np.sum(X**2), 0.2 * np.sum(S**2)

    def objective(V: np.ndarray) -> float:
        fit = np.sum((X @ V @ S.T - Y) ** 2)
        return fit + gamma * np.sum((V @ S.T) ** 2) + lam * np.sum((X @ V) ** 2) + (
            gamma * lam * np.sum(V**2)
        )  # fmt: skip

    model = ESZSL(0.05, 0.2, **AS_GIVEN)
    V = model.fit(X, y, classes=ClassTable(range(4), S)).weights_
    for _ in range(50):
        assert objective(V + 1e-3 * rng.standard_normal(V.shape)) > objective(V)


def test_preprocessing_is_learned_from_training_rows_only() -> None:
    data = make_zero_shot()
    X, y = data.training_set()
    model = ESZSL().fit(X, y, classes=data.classes)
    assert model.scaling_.mean is not None
    np.testing.assert_allclose(
        model.scaling_.mean, unit_rows(X.astype(np.float64)).mean(axis=0), atol=1e-6
    )


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_zero_shot(dtype=np.float64)
    X, y = data.training_set()
    whole = ESZSL().fit(X, y, classes=data.classes)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (7 * X.shape[1] * 8,))
    blocked = ESZSL().fit(X, y, classes=data.classes)
    np.testing.assert_allclose(blocked.weights_, whole.weights_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(blocked.similarities(X), whole.similarities(X), rtol=1e-6)


def test_a_penalty_means_the_same_for_repeated_rows() -> None:
    data = make_zero_shot(dtype=np.float64)
    X, y = data.training_set()
    once = ESZSL().fit(X, y, classes=data.classes)
    twice = ESZSL().fit(np.r_[X, X], np.r_[y, y], classes=data.classes)
    np.testing.assert_allclose(twice.weights_, once.weights_, rtol=1e-6, atol=1e-9)


def test_ten_thousand_attributes_are_no_burden() -> None:
    data = make_zero_shot(n_attributes=10_000)
    X, y = data.training_set()
    assert ESZSL().fit(X, y, classes=data.classes).score(*data.unseen_set()) > 0.5


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "abc", None, True])
@pytest.mark.parametrize("name", ["row_penalty", "class_penalty"])
def test_refuses_a_penalty_that_is_not_positive(name: str, bad: object) -> None:
    data = make_zero_shot()
    with pytest.raises(InputError, match=f"{name} must be a positive number"):
        ESZSL().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_one_sentence(missing: object) -> None:
    data = make_zero_shot()
    X, y = data.training_set()
    labels = np.array([*y[:-1].tolist(), missing], dtype=object)
    with pytest.raises(InputError, match=r"labels .*(must be strings|of mixed kinds)"):
        ESZSL().fit(X, labels, classes=data.classes)
