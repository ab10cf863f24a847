"""Algorithm 4 against an interior-point solver, and the data fit alone against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.latent import latent_model
from tests.oracles import qp
from unseen.inference.embedding import Algorithm4, AwayScorer, class_levels
from unseen.inference.scorer import DataFit, Scorer
from unseen.model.latent import LatentModel

LOSSES = ("hinge", "squared_hinge")
SETS = ("simplex", "affine", "free")
C, N, D_S, D_T, H_S, H_T = 6, 40, 8, 9, 5, 4


def away(model: LatentModel, **choices: Any) -> AwayScorer:
    return AwayScorer(model, 1, Algorithm4(**{"tol": 1e-7, **choices}))


def class_problem(s: np.ndarray, m: LatentModel, fit: float = 1.0) -> tuple[Any, ...]:
    """Algorithm 4 for one class; `fit` is λ2s in units of that of training."""
    H = fit * (m.source_shrink * np.eye(H_S) + m.source_fit * m.B.T @ m.B) / C
    r = fit * m.source_fit * m.B.T @ s / C
    weights = np.full(N, m.negative_weight / (C * N))
    return H, r, m.away_pulls(), weights, -np.ones(N), m.away_bias, m.loss


def row_problem(x: np.ndarray, m: LatentModel) -> tuple[Any, ...]:
    H = (m.target_shrink * np.eye(H_T) + m.target_fit * m.D.T @ m.D) / N
    r = m.target_fit * m.D.T @ x / N
    weights = np.full(C, m.negative_weight / (C * N))
    return H, r, m.Zs @ m.W, weights, -np.ones(C), m.away_bias, m.loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("bias", [0.2, -1.5])
def test_class_codes_equal_those_of_a_general_solver(loss: str, which: str, bias: float) -> None:
    model = latent_model(loss=loss, source_set=which, away_bias=bias)
    S = np.random.default_rng(1).standard_normal((5, D_S))
    found = away(model).embed_classes(S)
    assert np.abs(found - model.embed_classes(S)).max() > 1e-3, "it must have something to do here"
    for s, z in zip(S, found, strict=True):
        problem = class_problem(s, model)
        expected = qp.solve(*problem, which=which)
        best = qp.value(expected, *problem)
        assert qp.value(z, *problem) == pytest.approx(best, rel=1e-6, abs=2e-7)
        np.testing.assert_allclose(z, expected, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.2, -1.5])
@pytest.mark.parametrize("weight", [1.0, 2.4])
def test_row_codes_equal_those_of_a_general_solver(loss: str, bias: float, weight: float) -> None:
    model = latent_model(loss=loss, away_bias=bias, negative_weight=weight)
    X = 3 * np.random.default_rng(2).standard_normal((7, D_T))
    found = away(model).embed_rows(X @ model.D)
    for x, z in zip(X, found, strict=True):
        problem = row_problem(x, model)
        expected = qp.solve(*problem)
        best = qp.value(expected, *problem)
        assert qp.value(z, *problem) == pytest.approx(best, rel=1e-6, abs=2e-7)
        np.testing.assert_allclose(z, expected, atol=2e-3)


def test_row_codes_of_the_data_fit_are_ridge_regression() -> None:
    model = latent_model()
    X = np.random.default_rng(3).standard_normal((7, D_T))
    H = model.target_shrink * np.eye(H_T) + model.target_fit * model.D.T @ model.D
    expected = np.linalg.solve(H, model.target_fit * model.D.T @ X.T).T
    found = DataFit().on(model, 1).embed_rows(X @ model.D)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("which", SETS)
def test_class_codes_of_the_data_fit_minimise_it(which: str) -> None:
    model = latent_model(source_set=which)
    S = np.random.default_rng(4).standard_normal((5, D_S))
    H = model.source_shrink * np.eye(H_S) + model.source_fit * model.B.T @ model.B
    nothing = (np.zeros((1, H_S)), np.zeros(1), np.ones(1))
    r = model.source_fit * S @ model.B
    expected = [qp.solve(H, pull, *nothing, which=which) for pull in r]
    found = DataFit().on(model, 1).embed_classes(S)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
def test_algorithm_4_never_comes_closer_to_the_training_data(loss: str, which: str) -> None:
    """The data fit has its minimum at the init code, so what Algorithm 4 gains is all hinge."""
    model = latent_model(loss=loss, source_set=which)
    rng = np.random.default_rng(5)
    S, XD = rng.standard_normal((20, D_S)), 3 * rng.standard_normal((20, H_T))
    scorers: tuple[Scorer, Scorer] = away(model), Scorer(model, 1)
    for scores in (
        [z.embed_classes(S) @ model.away_pulls().T for z in scorers],
        [z.embed_rows(XD) @ model.W.T @ model.Zs.T for z in scorers],
    ):
        slack = [np.maximum(0, 1 + s + model.b) for s in scores]
        total = [np.sum(s**2 if loss == "squared_hinge" else s, axis=1) for s in slack]
        assert (total[0] <= total[1] + 1e-7).all()
        assert total[0].sum() < total[1].sum()


@pytest.mark.parametrize("which", SETS)
def test_a_strong_data_fit_leaves_the_init_codes(which: str) -> None:
    model = latent_model(source_set=which, loss="squared_hinge")
    rng = np.random.default_rng(6)
    S, XD = rng.standard_normal((5, D_S)), rng.standard_normal((5, H_T))
    scorer = away(model, source_fit=1e7, target_fit=1e7)
    np.testing.assert_allclose(scorer.embed_classes(S), model.embed_classes(S), atol=1e-4)
    np.testing.assert_allclose(scorer.embed_rows(XD), model.embed_rows(XD), atol=1e-4)


def test_another_fit_is_another_problem() -> None:
    model = latent_model()
    S = np.random.default_rng(1).standard_normal((3, D_S))
    found = away(model, source_fit=3 * model.source_fit).embed_classes(S)
    for s, z in zip(S, found, strict=True):
        problem = class_problem(s, model, fit=3.0)
        best = qp.value(qp.solve(*problem, which="simplex"), *problem)
        assert qp.value(z, *problem) == pytest.approx(best, rel=1e-6, abs=2e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_row_and_each_class_is_embedded_by_itself(loss: str) -> None:
    model = latent_model(loss=loss, source_set="affine")
    rng = np.random.default_rng(7)
    S, XD = rng.standard_normal((4, D_S)), rng.standard_normal((4, H_T))
    scorer = away(model)
    rows, classes = scorer.embed_rows(XD), scorer.embed_classes(S)
    for k in range(4):
        one = slice(k, k + 1)
        np.testing.assert_allclose(scorer.embed_rows(XD[one]), rows[one], atol=1e-9)
        np.testing.assert_allclose(scorer.embed_classes(S[one]), classes[one], atol=1e-3)


def test_rows_meet_seen_candidates_with_the_code_of_the_data_fit() -> None:
    """Algorithm 4 supposes that a row belongs to no seen class."""
    model = latent_model(link="margin")
    rng = np.random.default_rng(8)
    S, XD = rng.standard_normal((3, D_S)), 3 * rng.standard_normal((5, H_T))
    scorer = away(model)
    scores = scorer.scores(XD, scorer.candidates(S, np.array([-1, 4, -1])))
    plain = model.scores(model.Zs[[4]], model.embed_rows(XD))
    np.testing.assert_allclose(scores[:, [1]], plain)
    pushed = model.scores(scorer.embed_classes(S[[0, 2]]), scorer.embed_rows(XD))
    np.testing.assert_allclose(scores[:, [0, 2]], pushed)


def test_an_offset_is_taken_off_the_scores_of_new_classes() -> None:
    model = latent_model(link="margin")
    rng = np.random.default_rng(9)
    S, XD = rng.standard_normal((3, D_S)), rng.standard_normal((5, H_T))
    seen = np.array([-1, 2, -1])
    plain, lower = away(model), away(model, offset=0.5)
    difference = plain.scores(XD, plain.candidates(S, seen)) - lower.scores(
        XD, lower.candidates(S, seen)
    )
    levels = class_levels(model, plain.embed_classes(S[[0, 2]]))
    np.testing.assert_allclose(difference[:, [0, 2]], np.tile(0.5 * levels, (5, 1)))
    np.testing.assert_array_equal(difference[:, 1], 0)


@pytest.mark.parametrize("testing", [DataFit(), Algorithm4()], ids=["init", "algorithm 4"])
def test_decision_2_takes_off_the_fit_of_the_class(testing: Any) -> None:
    """In units of the weight of a positive pair in J."""
    model = latent_model(positive_weight=2.5)
    rng = np.random.default_rng(10)
    S, XD = rng.standard_normal((3, D_S)), rng.standard_normal((5, H_T))
    new = np.full(3, -1)
    one, two = testing.on(model, 1), testing.on(model, 2)
    difference = one.scores(XD, one.candidates(S, new)) - two.scores(XD, two.candidates(S, new))
    Z = one.embed_classes(S)
    cost = 0.5 * model.source_shrink * np.sum(Z**2, axis=1)
    cost += 0.5 * model.source_fit * np.sum((S - Z @ model.B.T) ** 2, axis=1)
    np.testing.assert_allclose(difference, np.tile(cost / 2.5, (5, 1)), atol=1e-9)
