"""The three terms against hand-worked cases, loops, finite differences and 1-d minimisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize_scalar

from tests.oracles.joint import loss_of
from unseen import InputError
from unseen.model import terms

LOSSES = terms.LOSSES
margins = st.floats(-5, 5)


def test_dictionary_terms_worked_by_hand() -> None:
    """x = (3, 1), z = (1, 2), atoms (1, 0) and (0, 1): |z|² = 5, |x - z|² = 4 + 1 = 5."""
    x, z, atoms = np.array([[3.0, 1.0]]), np.array([[1.0, 2.0]]), np.eye(2)
    for term in (terms.minus_log_p_B, terms.minus_log_p_D):
        assert term(x, z, atoms, 0.2, 4.0) == pytest.approx([0.1 * 5 + 2 * 5])
        assert term(x, z, atoms, 1.0, 0.0) == pytest.approx([2.5])
        assert term(x, x, atoms, 0.0, 9.0) == pytest.approx([0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dictionary_terms_equal_a_loop(dtype: type) -> None:
    rng = np.random.default_rng(0)
    X, Z, D = (rng.standard_normal(s).astype(dtype) for s in ((6, 5), (6, 3), (5, 3)))
    slow = [
        0.5 * 0.3 * sum(v * v for v in z) + 0.5 * 1.7 * sum((x - D @ z) ** 2)
        for x, z in zip(X.astype(float), Z.astype(float), strict=True)
    ]
    np.testing.assert_allclose(terms.minus_log_p_D(X, Z, D, 0.3, 1.7), slow, rtol=1e-5)


@pytest.mark.parametrize("lambdas", [(0.3, 1.7), (0.0, 1.0), (1.0, 0.0)])
def test_gradient_of_the_dictionary_term(lambdas: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    X, D = rng.standard_normal((4, 5)), rng.standard_normal((5, 3))

    def value(z: np.ndarray) -> float:
        return terms.minus_log_p_B(X, z.reshape(4, 3), D, *lambdas).sum()

    def gradient(z: np.ndarray) -> np.ndarray:
        return terms.dictionary_gradient(X, z.reshape(4, 3), D, *lambdas).ravel()

    assert check_grad(value, gradient, rng.standard_normal(12)) < 1e-5


@pytest.mark.parametrize(
    ("margin", "hinge", "squared"), [(2.0, 0, 0), (1.0, 0, 0), (0.5, 0.5, 0.25), (-1.0, 2, 4)]
)
def test_pair_loss_worked_by_hand(margin: float, hinge: float, squared: float) -> None:
    assert terms.pair_loss(np.array([margin]), "hinge") == hinge
    assert terms.pair_loss(np.array([margin]), "squared_hinge") == squared


@pytest.mark.parametrize("loss", LOSSES)
@given(margin=margins)
def test_gradient_of_the_pair_loss(loss: str, margin: float) -> None:
    assume(abs(margin - 1) > 1e-3)
    found = terms.pair_loss_gradient(np.array([margin]), loss)[0]
    step = 1e-6
    slope = (loss_of(margin + step, loss) - loss_of(margin - step, loss)) / (2 * step)
    assert found == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_at_the_knee_is_zero(loss: str) -> None:
    assert terms.pair_loss_gradient(np.array([1.0, 1.5]), loss).tolist() == [0, 0]


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=60, deadline=None)
@given(margin=margins, step=st.floats(1e-3, 10))
def test_prox_is_the_minimiser(loss: str, margin: float, step: float) -> None:
    found = float(terms.pair_loss_prox(np.array([margin]), step, loss)[0])

    def value(v: float) -> float:
        return 0.5 * (v - margin) ** 2 + step * loss_of(v, loss)

    best: Any = minimize_scalar(value, bounds=(margin - 1, margin + 30), method="bounded")
    assert value(found) <= best.fun + 1e-12
    assert found == pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pair_terms_keep_shape_and_type(loss: str, dtype: type) -> None:
    m = np.linspace(-2, 2, 12, dtype=dtype).reshape(3, 4)
    for found in (
        terms.pair_loss(m, loss),
        terms.pair_loss_gradient(m, loss),
        terms.pair_loss_prox(m, 0.5, loss),
        terms.log_p_W(m, loss),
        terms.log_p_W(m, loss, "saturating"),
    ):
        assert found.shape == m.shape
        assert found.dtype == dtype


def test_scores_have_rows_down_and_classes_across() -> None:
    rng = np.random.default_rng(2)
    Zs, Zt, W = (rng.standard_normal(s) for s in ((3, 2), (5, 4), (2, 4)))
    slow = [[zs @ W @ zt + 0.7 for zs in Zs] for zt in Zt]
    np.testing.assert_allclose(terms.similarity_scores(Zs, Zt, W, 0.7), slow)
    single = terms.similarity_scores(
        Zs.astype(np.float32), Zt.astype(np.float32), W.astype(np.float32), 0.7
    )
    assert single.dtype == np.float32


@pytest.mark.parametrize("loss", LOSSES)
def test_links_have_one_slope_at_zero(loss: str) -> None:
    step = np.array([-1e-6, 1e-6])
    slopes = [
        np.diff(terms.log_p_W(step, loss, link))[0] / 2e-6 for link in ("margin", "saturating")
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-5)
    assert slopes[0] == pytest.approx({"hinge": 1, "squared_hinge": 2}[loss])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("link", terms.LINKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_larger_score_is_never_a_tie(loss: str, link: str, dtype: type) -> None:
    scores = np.array([-3.0, 0.0, 0.9, 1.0, 1.1, 4.0], dtype)
    assert (np.diff(terms.log_p_W(scores, loss, link)) > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@given(margin=margins)
def test_saturating_link_is_minus_the_loss_of_a_positive_pair(loss: str, margin: float) -> None:
    """But for a thousandth of what lies beyond the margin."""
    found = terms.log_p_W(np.array([margin]), loss, "saturating")[0]
    beyond = 1e-3 * max(0.0, margin - 1)
    assert found == pytest.approx(beyond - loss_of(margin, loss), abs=1e-12)


def test_unknown_loss_or_link_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="loss must be one of"):
        terms.pair_loss(np.zeros(1), "logistic")
    with pytest.raises(InputError, match="loss must be one of"):
        terms.log_p_W(np.zeros(1), "logistic")
    with pytest.raises(InputError, match="link must be"):
        terms.log_p_W(np.zeros(1), "hinge", "identity")
