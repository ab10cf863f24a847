"""JLSE is the model of the paper: its parameters, its objective, its eight variants."""

from __future__ import annotations

from inspect import Parameter, signature
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse, small_jlse
from tests.oracles.joint import loss_of, objective, scaled_rows
from unseen import JLSE, KernelJLSE
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.model.objective import Codes, minus_log_p
from unseen.pairs.loss import Pairs
from unseen.rows import RowScaler
from unseen.rows.blocks import TrainingRows
from unseen.training.alternating import Algorithm2, Data, begin
from unseen.training.pairwise import Algorithm1

SILENT = "the paper is silent"
TUNED = "by cross-validation, two seen classes held out"
# Every parameter, and what the paper chooses for it.
PAPER = {
    "n_target_atoms": "40 (aP&Y), 200 (AwA), 300 (CUB), 200 (SUN), then " + TUNED,
    "n_source_atoms": "one per seen class; 200 by k-means on SUN",
    "source_fit": TUNED,
    "source_shrinkage": TUNED + "; Fig. 2b varies it",
    "target_fit": TUNED,
    "target_shrinkage": TUNED,
    "similarity_penalty": TUNED,
    "positive_weight": "every pair weighs the same in Eq. (obj)",
    "training": "Algorithm 2; Algorithm 1 is what it relaxes",
    "testing": "Algorithm 4 with all parameters of training; Algorithm 3 is what it relaxes",
    "decision": "Eq. (decision2) does better than Eq. (decision1)",
    "row_scaler": SILENT,
    "class_scaler": SILENT,
    "constant_feature": "none, as there is no bias",
    "random_state": SILENT,
    "keep_codes": "all of them, in Algorithm 4",
}


def test_every_parameter_is_one_that_the_paper_has_a_word_on_or_leaves_open() -> None:
    parameters = signature(JLSE).parameters
    assert list(parameters) == list(PAPER)
    assert len(parameters) <= 16
    by_keyword = [p.name for p in parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
    assert by_keyword == list(PAPER)[1:]
    more = set(signature(KernelJLSE).parameters) - set(PAPER)
    assert more == {"kernel_width"}


def test_defaults_follow_the_paper_where_it_has_chosen() -> None:
    model = JLSE()
    assert model.n_source_atoms is None
    assert model.decision == 2
    assert type(model._part("training")) is Algorithm2
    testing = model._part("testing")
    assert type(testing) is Algorithm4
    assert (testing.source_fit, testing.target_fit, testing.offset) == (None, None, 0.0)
    assert (model._loss, model._link) == ("hinge", "saturating")


def test_with_even_weights_the_objective_is_that_of_the_paper(data: Any) -> None:
    """Eq. (obj) as it stands there, over C N, by a loop over all pairs."""
    model = fit_jlse(
        data,
        positive_weight="uniform",
        constant_feature=0,
        row_scaler=RowScaler(center=False),
        keep_codes=True,
    )
    m, (X, y) = model.latent_, data.training_set()
    S, rows = m.describe(data.classes.select(data.seen).vectors), m.spaces.features(X)
    assert rows.shape == X.shape
    assert m.Zt is not None
    assert (m.positive_weight, m.negative_weight) == pytest.approx((1, 1))
    labels, (C, N) = np.searchsorted(model.seen_classes_, y), (len(S), len(X))
    source = minus_log_p(S, m.Zs, m.B, m.source_shrink, m.source_fit)
    target = minus_log_p(rows, m.Zt, m.D, m.target_shrink, m.target_fit)
    hinges = sum(
        loss_of((1 if labels[j] == i else -1) * float(m.Zs[i] @ m.W @ m.Zt[j]), "hinge")
        for i, j in product(range(C), range(N))
    )
    found = model.history_[-1]
    expected = (N * source.sum() + C * target.sum() + hinges) / (C * N)
    assert found[:3].sum() == pytest.approx(expected, rel=1e-9)
    sizes = found[3] / np.sum(m.W**2)
    assert sizes > 0, "and λ_W/2 |W|²"


def trained(model: JLSE, data: Any) -> Any:
    """What `fit` trains, before its first round."""
    X, y = data.training_set()
    vectors = data.classes.select(data.seen).vectors
    labels = np.searchsorted(data.seen, y)
    spaces = model._spaces(X, vectors)
    pairs = Pairs.weighted(labels, len(vectors), model.positive_weight)
    rows = TrainingRows(X, spaces.rows)
    return begin(Data(spaces.describe(vectors), rows, pairs), model, 1e-3)


@pytest.mark.parametrize("positive_weight", ["uniform", "balanced", 3.0])
def test_no_block_raises_the_objective(positive_weight: Any, data: Any) -> None:
    """J by the oracle, in float64 over all pairs, after every block."""
    model = small_jlse(positive_weight=positive_weight, training__max_iter=3)
    training = trained(model, data)
    X = scaled_rows(training.rows.X, training.rows.scaling)

    def J(codes: Codes) -> float:
        return sum(objective(training.S, X, training.pairs, codes, training.lambdas))

    values = [("start", J(training.codes))]
    training.run(3, callback=lambda n, block, codes: values.append((f"{block} {n}", J(codes))))
    assert len(values) == 16
    for (_, before), (name, now) in pairwise(values):
        assert now <= before + 1e-6 * abs(before), name
    model.fit(*data.training_set(), classes=data.classes)
    np.testing.assert_allclose(
        model.history_[:, -1], [v for _, v in values[::5]], rtol=1e-6, err_msg="what fit does"
    )
    assert model.history_[-1, -1] < 0.99 * model.history_[0, -1]


@pytest.mark.parametrize("training", [Algorithm2(2), Algorithm1(1)], ids=["2", "1"])
def test_the_fitted_model_lies_in_the_sets_of_the_paper(training: Any, data: Any) -> None:
    model = fit_jlse(data, training=training)
    latent = model.latent_
    assert latent.b == latent.away_bias == 0
    assert (latent.source_set, latent.loss, latent.link) == ("simplex", "hinge", "saturating")
    for codes in (latent.Zs, model.transform_classes(), model.transform_classes("seen")):
        np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-8)
        assert codes.min() >= -1e-9
    np.testing.assert_array_equal(model.transform_classes("seen"), latent.Zs)
    assert np.linalg.norm(latent.D, axis=0).max() <= 1 + 1e-9
    assert latent.spaces.row_kernel is latent.spaces.class_kernel is None


# -- variants ---------------------------------------------------------------------------------


def test_all_eight_variants_run_and_differ_as_they_should(data: Any, rows: np.ndarray) -> None:
    scores, models = {}, {}
    for rounds, testing, decision in product((0, 2), (DataFit, Algorithm4), (1, 2)):
        key = (rounds, testing, decision)
        models[key] = fit_jlse(
            data, training__max_iter=rounds, testing=testing(), decision=decision
        )
        scores[key] = models[key].similarities(rows)
        assert models[key].n_iter_ == rounds
        assert models[key].score(*data.unseen_set()) > 0.5
    spread = np.ptp(scores[0, DataFit, 1])
    for a, b in product(scores, repeat=2):
        if a != b:
            assert np.abs(scores[a] - scores[b]).max() > 1e-4 * spread, (a, b)
    for rounds, testing in product((0, 2), (DataFit, Algorithm4)):
        model, other = models[rounds, testing, 2], models[rounds, testing, 1]
        m = model.latent_
        S = m.describe(data.classes.select(model.classes_).vectors)
        cost = minus_log_p(S, model.transform_classes(), m.B, m.source_shrink, m.source_fit)
        difference = scores[rounds, testing, 2] - scores[rounds, testing, 1]
        expected = np.tile(-cost / m.positive_weight, (len(rows), 1))
        np.testing.assert_allclose(difference, expected, atol=1e-9)
        for name in model.classes_:
            np.testing.assert_array_equal(model.rank(name, rows).rows, other.rank(name, rows).rows)


def test_without_rounds_the_codes_are_those_of_the_start(data: Any) -> None:
    choices = {"n_target_atoms": 8, "target_shrinkage": 0.02, "keep_codes": True}
    model = fit_jlse(data, training__max_iter=0, **choices)
    assert model.n_iter_ == 0
    assert model.latent_.Zt is not None
    assert model.history_.shape == (1, 5)
    X = scaled_rows(data.training_set()[0], model.latent_.spaces.rows)
    D = model.latent_.D
    np.testing.assert_allclose(D.T @ D, np.eye(8), atol=1e-10)
    top = np.linalg.svd(X, full_matrices=False)[2][:8]
    np.testing.assert_allclose(np.abs(np.linalg.svd(top @ D)[1]), 1, atol=1e-9)
    np.testing.assert_allclose(model.latent_.Zt, X @ D / 1.02, atol=1e-8)
    seen = data.classes.select(data.seen).vectors
    np.testing.assert_array_equal(model.latent_.B, model.latent_.describe(seen).T)


def test_history_falls_and_has_parts_that_sum(model: JLSE) -> None:
    assert model.history_.shape == (model.n_iter_ + 1, 5)
    np.testing.assert_allclose(model.history_[:, :4].sum(axis=1), model.history_[:, 4])
    assert (np.diff(model.history_[:, 4]) < 0).all()


def test_tol_ends_training_early(data: Any) -> None:
    assert fit_jlse(data, training__max_iter=5, training__tol=0.9).n_iter_ == 1


def test_algorithm_1_is_a_way_to_train(data: Any) -> None:
    coupled, alone = (
        fit_jlse(data, training=kind(2, block_tol=1e-3)) for kind in (Algorithm1, Algorithm2)
    )
    assert coupled.n_iter_ == 2
    assert np.all(np.diff(coupled.history_[:, -1]) < 0)
    # At the parameters from which both begin, codes of pairs can only lower the objective.
    assert coupled.history_[0, -1] < alone.history_[0, -1]
    assert np.abs(coupled.latent_.W - alone.latent_.W).max() > 1e-3
    assert coupled.score(*data.unseen_set()) > 0.6


def test_algorithms_1_and_3_go_together(data: Any) -> None:
    model = fit_jlse(data, training=Algorithm1(1), testing=Algorithm3())
    assert model.score(*data.unseen_set()) > 2 / 4
