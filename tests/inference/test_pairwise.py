"""Algorithm 3: scores against the general model, decisions, links, blocks, and the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.latent import latent_model
from tests.common.small import fit_jlse
from tests.oracles.general import Dictionary, Hinge, Maximum, maximise
from unseen import InputError, load, make_zero_shot
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.metrics import per_class_accuracy
from unseen.model.latent import LatentModel
from unseen.solvers.simplex import SETS

LOSSES = ("hinge", "squared_hinge")
NEW = np.full(4, -1)


def problem(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Descriptions of four classes, and nine rows."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 8)), rng.standard_normal((9, 9))


def scores(model: LatentModel, testing: Any, decision: int, S: Any, X: Any) -> np.ndarray:
    scorer = testing.on(model, decision)
    return scorer.scores(X @ model.D, scorer.candidates(S, NEW[: len(S)]))


def joint_maximum(model: LatentModel, fit: float, S: Any, X: Any) -> Maximum:
    """F of Eq. (gen_sim) by plain alternation, in units of the weight of log p_W."""
    fit = fit / model.positive_weight
    source = Dictionary(model.B, model.source_shrinkage * fit, fit, model.source_set)
    target = Dictionary(model.D, model.target_shrinkage * fit, fit)
    return maximise(source, target, Hinge(model.W, model.b, model.loss), S, X)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [1.0, 2.5])
@pytest.mark.parametrize("source_set", SETS)
def test_scores_are_f_of_the_general_model_less_a_number_a_row(
    source_set: str, weight: float, loss: str
) -> None:
    """And a thousandth of what a score has beyond its margin."""
    model = latent_model(source_set=source_set, positive_weight=weight, loss=loss)
    S, X = problem()
    best = joint_maximum(model, 200.0, S, X)
    s = np.einsum("jis,st,jit->ji", best.source, model.W, best.target) + model.b
    expected = best.value + 1e-3 * np.maximum(s - 1, 0)
    found = scores(model, Algorithm3(200.0, 200.0), 2, S, X)
    assert np.ptp(expected - expected[:, :1]) > 1
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], atol=1e-5 * np.abs(expected).max()
    )


def test_lambdas_are_those_of_training_unless_others_are_given() -> None:
    """Where all pairs of a class shared a code, λ of J hold against all of them together."""
    S, X = problem()
    for coupled, n_rows, n_classes in ((False, 40, 6), (True, 1, 1)):
        model = latent_model(is_coupled=coupled)
        plain = scores(model, Algorithm3(), 1, S, X)
        beside_one = Algorithm3(n_rows * model.source_fit, n_classes * model.target_fit)
        np.testing.assert_array_equal(plain, scores(model, beside_one, 1, S, X))
        for other in (Algorithm3(source_fit=9.0), Algorithm3(target_fit=0.9)):
            assert np.abs(scores(model, other, 1, S, X) - plain).max() > 1e-3
        # Decision 2 takes off what a class costs alone, by the λ2s of J or the one given.
        for testing, fit in ((Algorithm3(), None), (Algorithm3(9.0), 9.0)):
            one, two = (scores(model, testing, k, S, X) for k in (1, 2))
            cost = model.source_cost(S, model.embed_classes(S), fit)
            np.testing.assert_allclose(one - two, np.tile(cost, (9, 1)), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("link", ["margin", "saturating"])
@pytest.mark.parametrize("source_set", SETS)
def test_with_codes_that_hardly_move_it_is_decision_1(
    source_set: str, link: str, loss: str
) -> None:
    model = latent_model(source_set=source_set, loss=loss, link=link)
    S, X = problem()
    found = scores(model, Algorithm3(1e7, 1e7), 1, S, X)
    still = latent_model(
        source_set=source_set,
        loss=loss,
        link=link,
        source_fit=1e7,
        source_shrink=3e6,
        target_fit=1e7,
        target_shrink=3e6,
    )
    expected = scores(still, DataFit(), 1, S, X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.ptp(expected))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("source_set", SETS)
def test_no_pair_loses_by_codes_of_its_own(source_set: str, loss: str) -> None:
    """Decision 2 at the codes of the data fit is F at some codes, and F is the largest."""
    model = latent_model(source_set=source_set, loss=loss, positive_weight=1.7)
    S, X = problem()
    found, still = (scores(model, testing, 2, S, X) for testing in (Algorithm3(), DataFit()))
    # The tie-breaker is no part of what is maximised.
    assert (found >= still - 1e-3 * np.abs(still).max()).all()
    assert (found > still + 1e-2).any()


def test_decision_1_leaves_out_what_a_class_costs_alone() -> None:
    model = latent_model(positive_weight=1.7)
    S, X = problem()
    one, two = (scores(model, Algorithm3(), decision, S, X) for decision in (1, 2))
    cost = model.source_cost(S, model.embed_classes(S))
    np.testing.assert_allclose(one - two, np.tile(cost, (len(X), 1)), atol=1e-6)


def test_margins_tell_pairs_apart_that_need_not_move() -> None:
    """With link "margin" the score is that of "saturating" plus how far s is beyond 1."""
    models = {link: latent_model(b=0.8, link=link) for link in ("saturating", "margin")}
    S, X = problem()
    margin, saturated = (scores(models[k], Algorithm3(), 1, S, X) for k in ("margin", "saturating"))
    kept = saturated >= 0
    assert 5 < np.count_nonzero(kept) < kept.size - 5
    np.testing.assert_allclose(saturated[kept], 1e-3 * (margin[kept] - 1), atol=1e-9)
    assert np.unique(np.round(margin[kept], 5)).size == kept.sum()
    np.testing.assert_allclose(margin[~kept] - 1, saturated[~kept], atol=1e-4)


@pytest.mark.parametrize("source_set", SETS)
def test_block_size_does_not_matter(source_set: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = latent_model(source_set=source_set)
    S, X = problem()
    whole = scores(model, Algorithm3(), 2, S, X)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (1,))
    np.testing.assert_allclose(scores(model, Algorithm3(), 2, S, X), whole, rtol=1e-9)


def test_codes_of_pairs_score_what_their_own_similarity_says() -> None:
    """With a row in which nothing can be gained, by hand: z_s'W z_t + b is beyond the margin."""
    model = latent_model(b=50.0, link="margin")
    S, X = problem()
    plain = model.scores(model.embed_classes(S), model.embed_rows(X @ model.D))
    assert plain.min() > 1
    np.testing.assert_allclose(scores(model, Algorithm3(), 1, S, X), plain, atol=1e-6)


# -- in JLSE --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(12, 4, 12, 14, 10, 5, noise=0.4, random_state=2)


def test_float32_in_float32_out(data: Any) -> None:
    X, _ = data.training_set()
    rows, labels = data.unseen_set()
    found = []
    for dtype in (np.float32, np.float64):
        model = fit_jlse(data, X=X.astype(dtype), testing=Algorithm3(), decision=1)
        values = model.decision_function(rows.astype(dtype))
        assert values.dtype == dtype
        found.append(values)
        assert per_class_accuracy(labels, model.predict(rows.astype(dtype))) > 0.5
    assert np.mean(found[0].argmax(axis=1) == found[1].argmax(axis=1)) > 0.95


def test_it_is_a_choice_of_test_time_and_is_saved(data: Any, tmp_path: Any) -> None:
    model = fit_jlse(data)
    X = data.unseen_set()[0]
    by_instance = model.decision_function(X)
    assert "testing" in model.test_time_parameters
    by_pair = model.set_params(testing=Algorithm3()).decision_function(X)
    assert not np.allclose(by_pair, by_instance)
    np.testing.assert_allclose(by_pair, fit_jlse(data, testing=Algorithm3()).decision_function(X))
    model.save(tmp_path / "pairs.unseen")
    again: Any = load(tmp_path / "pairs.unseen")
    np.testing.assert_allclose(again.decision_function(X), by_pair)
    assert model.predict(X, candidates="all").shape == (len(X),)


def test_the_seen_penalty_is_learned_for_it(data: Any) -> None:
    model = fit_jlse(data, testing=Algorithm3(), training__max_iter=0)
    model.calibrate_seen(*data.training_set())
    assert np.isfinite(model.seen_penalty_)


@pytest.mark.parametrize("testing", ["Algorithm3", Algorithm3, 3, Algorithm3(source_fit=-1)])
def test_what_is_no_test_time_part_is_refused(data: Any, testing: Any) -> None:
    with pytest.raises(InputError, match=r"testing: source_fit must be|testing must be Algorithm4"):
        fit_jlse(data, testing=testing)
