"""The three terms and J against hand-worked cases, loops and the brute-force sum over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.joint import loss_of, objective
from unseen import InputError
from unseen.model.objective import (
    LINKS,
    Codes,
    Lambdas,
    joint_objective,
    log_p_W,
    minus_log_p,
    pair_total,
)
from unseen.pairs.loss import LOSSES, Pairs


def problem(loss: str, dtype: Any = np.float64, signs: bool = False) -> Any:
    rng = np.random.default_rng(0)
    C, N, d_s, d_t, h_s, h_t = 5, 13, 4, 6, 3, 4
    draw = lambda *shape: rng.standard_normal(shape).astype(dtype)  # noqa: E731
    S, X, labels = draw(C, d_s), draw(N, d_t) + dtype(1), rng.integers(0, C, N)
    codes = Codes(draw(C, h_s), draw(N, h_t), draw(d_s, h_s), draw(d_t, h_t), draw(h_s, h_t))
    labels = rng.choice([-1, 0, 1], (N, C)).astype(np.int8) if signs else labels
    return S, X, Pairs.weighted(labels, C, 3.0, loss), codes, Lambdas(0.2, 0.7, 0.4, 1.3, 0.05)


def residual(X: np.ndarray, codes: Codes) -> float:
    """Σ_j |x_j - D z_j|²."""
    return float(np.sum((X.astype(float) - codes.Zt.astype(float) @ codes.D.T) ** 2))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("signs", [False, True])
def test_equals_the_double_loop(loss: str, dtype: Any, rtol: float, signs: bool) -> None:
    S, X, pairs, codes, lambdas = problem(loss, dtype, signs)
    found = joint_objective(S, residual(X, codes), pairs, codes, lambdas)
    slow = objective(S, X, pairs, codes, lambdas)
    np.testing.assert_allclose(found, slow, rtol=rtol)
    assert found.total == pytest.approx(sum(slow), rel=rtol)
    assert all(part > 0 for part in found)


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    S, X, pairs, codes, lambdas = problem("squared_hinge")
    square = residual(X, codes)
    whole = joint_objective(S, square, pairs, codes, lambdas)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (100,))
    again = joint_objective(S, square, pairs, codes, lambdas)
    np.testing.assert_allclose(again, whole, rtol=1e-12)


def test_pairs_part_is_zero_when_every_margin_is_kept() -> None:
    eye = np.eye(3)
    codes = Codes(eye, eye, eye, eye, 2 * eye - 1)
    assert pair_total(codes, Pairs.weighted(np.arange(3), 3, "uniform")) == 0
    turned = pair_total(codes, Pairs.weighted(np.array([1, 2, 0]), 3, "uniform"))
    assert turned == pytest.approx((3 * 2 + 3 * 2) / 9)


# -- terms ----------------------------------------------------------------------------------------


def test_dictionary_terms_worked_by_hand() -> None:
    """x = (3, 1), z = (1, 2), atoms (1, 0) and (0, 1): |z|² = 5, |x - z|² = 4 + 1 = 5."""
    x, z, atoms = np.array([[3.0, 1.0]]), np.array([[1.0, 2.0]]), np.eye(2)
    assert minus_log_p(x, z, atoms, 0.2, 4.0) == pytest.approx([0.1 * 5 + 2 * 5])
    assert minus_log_p(x, z, atoms, 1.0, 0.0) == pytest.approx([2.5])
    assert minus_log_p(x, x, atoms, 0.0, 9.0) == pytest.approx([0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dictionary_terms_equal_a_loop(dtype: type) -> None:
    rng = np.random.default_rng(0)
    X, Z, D = (rng.standard_normal(s).astype(dtype) for s in ((6, 5), (6, 3), (5, 3)))
    slow = [
        0.5 * 0.3 * sum(v * v for v in z) + 0.5 * 1.7 * sum((x - D @ z) ** 2)
        for x, z in zip(X.astype(float), Z.astype(float), strict=True)
    ]
    np.testing.assert_allclose(minus_log_p(X, Z, D, 0.3, 1.7), slow, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_links_have_one_slope_at_zero(loss: str) -> None:
    step = np.array([-1e-6, 1e-6])
    slopes = [np.diff(log_p_W(step, loss, link))[0] / 2e-6 for link in ("margin", "saturating")]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-5)
    assert slopes[0] == pytest.approx({"hinge": 1, "squared_hinge": 2}[loss])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_larger_score_is_never_a_tie(loss: str, link: str, dtype: type) -> None:
    scores = np.array([-3.0, 0.0, 0.9, 1.0, 1.1, 4.0], dtype)
    assert (np.diff(log_p_W(scores, loss, link)) > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@given(margin=st.floats(-5, 5))
def test_saturating_link_is_minus_the_loss_of_a_positive_pair(loss: str, margin: float) -> None:
    """But for a thousandth of what lies beyond the margin."""
    found = log_p_W(np.array([margin]), loss, "saturating")[0]
    beyond = 1e-3 * max(0.0, margin - 1)
    assert found == pytest.approx(beyond - loss_of(margin, loss), abs=1e-12)


def test_unknown_loss_or_link_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="loss must be one of"):
        log_p_W(np.zeros(1), "logistic")
    with pytest.raises(InputError, match="link must be"):
        log_p_W(np.zeros(1), "hinge", "identity")
