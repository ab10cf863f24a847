"""Algorithm 4 against an interior-point solver, and the data fit alone against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles import qp
from unseen.inference.embedding import Away, embed_classes, embed_rows, margin_bias
from unseen.model.objective import Codes

LOSSES = ("hinge", "squared_hinge")
SETS = ("simplex", "affine", "free")
C, N, D_S, D_T, H_S, H_T = 6, 40, 8, 9, 5, 4
SHRINKAGE = 0.3


@pytest.fixture(scope="module")
def codes() -> Codes:
    """A trained model, for all that Algorithm 4 can tell: dictionaries, codes and a similarity."""
    rng = np.random.default_rng(0)
    Zs = rng.dirichlet(np.ones(H_S), C)
    Zt = rng.standard_normal((N, H_T))
    B, D = rng.standard_normal((D_S, H_S)), rng.standard_normal((D_T, H_T)) / 3
    return Codes(Zs, Zt, B, D, 2 * rng.standard_normal((H_S, H_T)), 0.2)


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    return np.arange(N) % C


def away(loss: str, bias: float, weight: float = 1 / (C * N), fit: float = 0.7) -> Away:
    return Away(fit, 2 * fit, weight, bias, 0.0, loss, 1e-7)


def class_problem(s: np.ndarray, codes: Codes, a: Away) -> tuple[Any, ...]:
    H = a.source_fit * (SHRINKAGE * np.eye(H_S) + codes.B.T @ codes.B) / C
    r = a.source_fit * codes.B.T @ s / C
    return H, r, codes.Zt @ codes.W.T, np.full(N, a.weight), -np.ones(N), a.bias, a.loss


def row_problem(x: np.ndarray, codes: Codes, a: Away) -> tuple[Any, ...]:
    H = a.target_fit * (SHRINKAGE * np.eye(H_T) + codes.D.T @ codes.D) / N
    r = a.target_fit * codes.D.T @ x / N
    return H, r, codes.Zs @ codes.W, np.full(C, a.weight), -np.ones(C), a.bias, a.loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("bias", [0.2, -1.5])
def test_class_codes_equal_those_of_a_general_solver(
    loss: str, which: str, bias: float, codes: Codes
) -> None:
    S = np.random.default_rng(1).standard_normal((5, D_S))
    a = away(loss, bias)
    found = embed_classes(S, codes, SHRINKAGE, which, a)
    plain = embed_classes(S, codes, SHRINKAGE, which, None)
    assert np.abs(found - plain).max() > 1e-3, "Algorithm 4 must have something to do here"
    for s, z in zip(S, found, strict=True):
        problem = class_problem(s, codes, a)
        expected = qp.solve(*problem, which=which)
        best = qp.value(expected, *problem)
        assert qp.value(z, *problem) == pytest.approx(best, rel=1e-6, abs=2e-7)
        np.testing.assert_allclose(z, expected, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.2, -1.5])
@pytest.mark.parametrize("weight", [1 / (C * N), 1e-2])
def test_row_codes_equal_those_of_a_general_solver(
    loss: str, bias: float, weight: float, codes: Codes
) -> None:
    X = 3 * np.random.default_rng(2).standard_normal((7, D_T))
    a = away(loss, bias, weight)
    found = embed_rows(X @ codes.D, codes, SHRINKAGE, a)
    for x, z in zip(X, found, strict=True):
        problem = row_problem(x, codes, a)
        expected = qp.solve(*problem)
        best = qp.value(expected, *problem)
        assert qp.value(z, *problem) == pytest.approx(best, rel=1e-6, abs=2e-7)
        np.testing.assert_allclose(z, expected, atol=2e-3)


def test_row_codes_without_algorithm_4_are_ridge_regression(codes: Codes) -> None:
    X = np.random.default_rng(3).standard_normal((7, D_T))
    H = SHRINKAGE * np.eye(H_T) + codes.D.T @ codes.D
    expected = np.linalg.solve(H, codes.D.T @ X.T).T
    np.testing.assert_allclose(
        embed_rows(X @ codes.D, codes, SHRINKAGE, None), expected, atol=1e-10
    )


@pytest.mark.parametrize("which", SETS)
def test_class_codes_without_algorithm_4_minimise_the_data_fit(which: str, codes: Codes) -> None:
    S = np.random.default_rng(4).standard_normal((5, D_S))
    H = SHRINKAGE * np.eye(H_S) + codes.B.T @ codes.B
    nothing = (np.zeros((1, H_S)), np.zeros(1), np.ones(1))
    expected = [qp.solve(H, codes.B.T @ s, *nothing, which=which) for s in S]
    found = embed_classes(S, codes, SHRINKAGE, which, None)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
def test_algorithm_4_never_comes_closer_to_the_training_data(
    loss: str, which: str, codes: Codes
) -> None:
    """The data fit has its minimum at the init code, so what Algorithm 4 gains is all hinge."""
    rng = np.random.default_rng(5)
    S, XD = rng.standard_normal((20, D_S)), 3 * rng.standard_normal((20, H_T))
    a = away(loss, codes.b)
    class_codes, row_codes = (
        [embed_classes(S, codes, SHRINKAGE, which, form) for form in (a, None)],
        [embed_rows(XD, codes, SHRINKAGE, form) for form in (a, None)],
    )
    scores = (
        [z @ codes.W @ codes.Zt.T for z in class_codes],
        [z @ codes.W.T @ codes.Zs.T for z in row_codes],
    )
    for pushed, plain in scores:
        slack = [np.maximum(0, 1 + s + codes.b) for s in (pushed, plain)]
        total = [np.sum(s**2 if loss == "squared_hinge" else s, axis=1) for s in slack]
        assert (total[0] <= total[1] + 1e-7).all()
        assert total[0].sum() < total[1].sum()


def test_a_strong_data_fit_leaves_the_init_codes(codes: Codes) -> None:
    rng = np.random.default_rng(6)
    S, XD = rng.standard_normal((5, D_S)), rng.standard_normal((5, H_T))
    a = away("squared_hinge", codes.b, fit=1e7)
    for which in SETS:
        np.testing.assert_allclose(
            embed_classes(S, codes, SHRINKAGE, which, a),
            embed_classes(S, codes, SHRINKAGE, which, None),
            atol=1e-4,
        )
    np.testing.assert_allclose(
        embed_rows(XD, codes, SHRINKAGE, a), embed_rows(XD, codes, SHRINKAGE, None), atol=1e-4
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_each_row_and_each_class_is_embedded_by_itself(loss: str, codes: Codes) -> None:
    rng = np.random.default_rng(7)
    S, XD = rng.standard_normal((4, D_S)), rng.standard_normal((4, H_T))
    a = away(loss, codes.b)
    rows = embed_rows(XD, codes, SHRINKAGE, a)
    classes = embed_classes(S, codes, SHRINKAGE, "affine", a)
    for k in range(4):
        one = slice(k, k + 1)
        np.testing.assert_allclose(embed_rows(XD[one], codes, SHRINKAGE, a), rows[one], atol=1e-9)
        found = embed_classes(S[one], codes, SHRINKAGE, "affine", a)
        np.testing.assert_allclose(found, classes[one], atol=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 0.99, 1.0])
def test_margin_bias_keeps_the_margin_of_the_share(
    share: float, codes: Codes, labels: np.ndarray
) -> None:
    b = margin_bias(codes, labels, share)
    negative = [
        codes.Zs[i] @ codes.W @ codes.Zt[j] for i in range(C) for j in range(N) if labels[j] != i
    ]
    kept = np.mean(-(np.array(negative) + b) >= 1 - 1e-9)
    assert kept == pytest.approx(share, abs=1.5 / len(negative))


def test_without_a_share_the_bias_is_that_of_training(codes: Codes, labels: np.ndarray) -> None:
    assert margin_bias(codes, labels, None) == codes.b


def test_margin_bias_of_many_rows_is_taken_from_a_sample(codes: Codes) -> None:
    rng = np.random.default_rng(8)
    many = codes._replace(Zt=rng.standard_normal((20_000, H_T)))
    classes = rng.integers(0, C, 20_000)
    b = margin_bias(many, classes, 0.95)
    scores = many.Zt @ (codes.Zs @ codes.W).T
    negative = scores[np.arange(C) != classes[:, None]]
    assert np.mean(negative + b <= -1) == pytest.approx(0.95, abs=0.01)
