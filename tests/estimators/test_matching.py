"""JLSE on labels of any pairs: forms of labels, weights, what new vectors score, and θ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import unseen
from tests.common.small import small_jlse
from tests.oracles import qp
from unseen import JLSE, ClassTable, InputError, make_zero_shot
from unseen.datasets import PairDataset, make_pairs
from unseen.evaluation import evaluate_pairs
from unseen.inference.embedding import AwayScorer
from unseen.inference.scorer import Scorer

FAST: dict[str, Any] = {"n_target_atoms": 20, "target_shrinkage": 0.02, "source_shrinkage": 1.0}
KNOWN = slice(0, 90)
NEW = slice(90, 120)


def fast(**parameters: Any) -> JLSE:
    return small_jlse(**{**FAST, **parameters})


@pytest.fixture(scope="module")
def data() -> PairDataset:
    return make_pairs(24, 120, 12, 20, 3, known=0.7, positives=0.25)


@pytest.fixture(scope="module")
def model(data: PairDataset) -> JLSE:
    return fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN])


# -- labels -------------------------------------------------------------------------------------


def test_array_and_sparse_make_one_model(data: PairDataset, model: JLSE) -> None:
    X, Y = data.X[KNOWN], data.Y[KNOWN]
    expected = model.score_pairs(data.S, data.X[NEW])
    for form in (Y.astype(float), scipy.sparse.csr_array(Y)):
        found = fast().fit_pairs(data.S, X, form).score_pairs(data.S, data.X[NEW])
        np.testing.assert_array_equal(found, expected)


def test_a_whole_weight_is_a_repetition(data: PairDataset, model: JLSE) -> None:
    X, Y = data.X[KNOWN], data.Y[KNOWN]
    often = np.random.default_rng(0).integers(1, 4, Y.shape)
    places = np.nonzero(Y)
    many = tuple(np.repeat(numbers, often[places]) for numbers in places)
    repeated = scipy.sparse.coo_array((Y[many], many), shape=Y.shape)
    weighted = fast().fit_pairs(data.S, X, Y, often)
    again = fast().fit_pairs(data.S, X, repeated)
    expected = weighted.score_pairs(data.S, data.X[NEW])
    np.testing.assert_array_equal(again.score_pairs(data.S, data.X[NEW]), expected)
    assert np.abs(model.score_pairs(data.S, data.X[NEW]) - expected).max() > 0.01


def test_weights_of_one_change_nothing_and_their_scale_is_free(
    data: PairDataset, model: JLSE
) -> None:
    expected = model.score_pairs(data.S, data.X[NEW])
    for size in (1.0, 7.0):
        weights = np.full(data.Y[KNOWN].shape, size)
        found = fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN], weights)
        scores = found.score_pairs(data.S, data.X[NEW])
        np.testing.assert_allclose(scores, expected, atol=0.02 * np.ptp(expected))


def test_class_labels_are_a_special_case() -> None:
    """Their signs, with disjoint matches, make the model that `fit` makes of the names."""
    zero_shot = make_zero_shot(8, 3, 12, 16, 10, 4, dtype=np.float64)
    X, y = zero_shot.training_set()
    seen = zero_shot.classes.select(zero_shot.seen)
    options = {"similarity_penalty": 1e-2, "training__block_tol": 1e-6}
    by_name = fast(**options).fit(X, y, classes=seen)
    # Pairs are scored by the margin, which tells matches apart that keep it.
    by_name.latent_ = replace(by_name.latent_, link="margin")
    Y = np.where(seen.names == y[:, None], 1, -1)
    by_pair = fast(**options).fit_pairs(seen.vectors, X, Y, disjoint=True)
    np.testing.assert_allclose(by_pair.history_, by_name.history_, rtol=1e-3)
    S, rows = zero_shot.classes.select(zero_shot.unseen).vectors, zero_shot.unseen_set()[0]
    expected = by_name.score_pairs(S, rows)
    found = by_pair.score_pairs(S, rows)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.ptp(expected))


def test_the_objective_falls(model: JLSE) -> None:
    assert model.n_iter_ == 2
    assert (np.diff(model.history_[:, -1]) < 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": lambda d: d.Y[KNOWN].T}, "give Y.T"),
        ({"Y": lambda d: np.abs(d.Y[KNOWN])}, "no pair has the label -1"),
        ({"Y": lambda d: 2 * d.Y[KNOWN]}, "holds -?2"),
        ({"S": lambda d: np.ones((24, 12))}, "described by the same vector"),
        ({"S": lambda d: np.full((24, 12), np.nan)}, "NaN or infinite in column 0"),
        ({"S": lambda d: d.S[:5]}, r"5\s+sources"),
        ({"X": lambda d: d.X[:5]}, "there are 5 targets"),
    ],
)
def test_bad_input_is_named(data: PairDataset, change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"S": data.S, "X": data.X[KNOWN], "Y": data.Y[KNOWN]}
    given |= {name: make(data) for name, make in change.items()}
    with pytest.raises(InputError, match=message):
        fast().fit_pairs(**given)


# -- scores -------------------------------------------------------------------------------------


def test_new_targets_are_told_apart_nearly_as_well_as_can_be(
    data: PairDataset, model: JLSE
) -> None:
    found = evaluate_pairs(model, data.S, data.X[NEW], data.Y[NEW])
    truth = data.probabilities(data.S, data.X[NEW])
    ceiling = unseen.metrics.roc_auc(*unseen.metrics.known_pairs(data.Y[NEW], truth))
    assert 0.5 + 0.8 * (ceiling - 0.5) < found.roc_auc <= ceiling + 0.02


def test_scores_are_the_similarity_of_codes_of_the_data_fit(data: PairDataset, model: JLSE) -> None:
    """New sources and rows, against ridge codes computed here."""
    S = data.S + 0.1
    rows = data.X[NEW]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scaling, (B, D, W) = model.latent_.spaces.rows, (getattr(model.latent_, k) for k in "BDW")
    assert scaling.mean is not None
    rows = (rows - scaling.mean) / scaling.scale
    rows = np.hstack([rows, np.full((len(rows), 1), scaling.constant)])
    Zt = np.linalg.solve(D.T @ D + 0.02 * np.eye(D.shape[1]), D.T @ rows.T).T
    s = np.sign(S) * np.abs(S) ** 0.7
    s = s / np.linalg.norm(s, axis=1, keepdims=True)
    ratio = model.latent_.source_shrinkage
    H = B.T @ B + ratio * np.eye(B.shape[1])
    nothing = (np.zeros((1, B.shape[1])), np.zeros(1), np.ones(1))
    Zs = np.array([qp.solve(H, pull, *nothing, which="simplex") for pull in s @ B])
    expected = Zt @ (Zs @ W).T
    found = model.score_pairs(S, data.X[NEW])
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.ptp(expected))


def test_a_known_source_has_its_trained_code(data: PairDataset, model: JLSE) -> None:
    latent = model.latent_
    Zt = latent.embed_rows(latent.project(data.X[NEW]))
    expected = Zt @ (latent.Zs[[3, 0]] @ latent.W).T
    np.testing.assert_allclose(model.score_pairs(data.S[[3, 0]], data.X[NEW]), expected, atol=1e-9)
    table = ClassTable(["a", "b"], data.S[[3, 0]])
    np.testing.assert_allclose(model.similarities(data.X[NEW], table), expected, atol=1e-9)


def test_a_vector_that_two_sources_share_is_no_known_source(data: PairDataset) -> None:
    S = data.S.copy()
    S[1] = S[0]
    model = fast().fit_pairs(S, data.X, data.Y)
    table = ClassTable(["a", "b"], S[[0, 2]])
    np.testing.assert_array_equal(model._known_sources(table), [-1, 2])


def test_disjoint_matches_use_algorithm_4(data: PairDataset, model: JLSE) -> None:
    away = fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN], disjoint=True)
    np.testing.assert_array_equal(away.latent_.W, model.latent_.W)
    assert isinstance(away._scorer, AwayScorer)
    assert (type(model._scorer), model._scorer.decision) == (Scorer, 1)
    S = data.S + 0.1
    assert np.abs(away.score_pairs(S, data.X) - model.score_pairs(S, data.X)).max() > 1e-3


# -- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda m, X: m.predict(X),
        lambda m, X: m.predict(X, "seen"),
        lambda m, X: m.similarities(X, ["source 0"]),
        lambda m, X: m.top_k(X),
        lambda m, X: m.rank("source 0", X),
        lambda m, X: m.explain(X[0], "source 0"),
        lambda m, X: m.score(X, ["source 0"] * len(X)),
        lambda m, X: m.transform_classes(),
        lambda m, X: m.reveal({"new": np.zeros(12)}),
    ],
)
def test_what_needs_names_says_so(data: PairDataset, model: JLSE, ask: Any) -> None:
    with pytest.raises(InputError, match="without names: use score_pairs"):
        ask(model, data.X[NEW])


def test_a_class_table_brings_names(data: PairDataset, model: JLSE) -> None:
    names = [f"drug {k}" for k in range(24)][::-1]
    table = ClassTable(names, data.S)
    named = fast().fit_pairs(table, data.X[KNOWN], data.Y[KNOWN])
    scores = model.score_pairs(data.S, data.X[NEW])
    np.testing.assert_array_equal(named.similarities(data.X[NEW], names), scores)
    np.testing.assert_array_equal(named.predict(data.X[NEW]), np.array(names)[scores.argmax(1)])
    best = named.rank("drug 20", data.X[NEW], k=3)
    np.testing.assert_array_equal(best.rows, np.argsort(-scores[:, 3])[:3])
    later = named.reveal({"drug 99": data.S[0] + 0.1})
    np.testing.assert_array_equal(
        later.similarities(data.X[NEW], ["drug 99"]),
        model.score_pairs(data.S[:1] + 0.1, data.X[NEW]),
    )


def test_candidates_given_as_a_table_are_chosen_from(data: PairDataset, model: JLSE) -> None:
    table = ClassTable(["a", "b", "c"], data.S[:3])
    scores = model.score_pairs(data.S[:3], data.X[NEW])
    found = model.predict(data.X[NEW], table)
    np.testing.assert_array_equal(found, np.array(["a", "b", "c"])[scores.argmax(axis=1)])


def test_fit_forgets_pairs(data: PairDataset, model: JLSE) -> None:
    other = fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN])
    other.calibrate(data.S, data.X[NEW], data.Y[NEW], cold=None)
    y = np.repeat(["a", "b", "c"], 40)
    other.fit(data.X, y, classes=dict(zip("abc", np.eye(3), strict=True)))
    assert not {"pairs_", "pair_threshold_", "pair_curve_"} & set(vars(other))
    assert other.predict(data.X[:2]).dtype.kind == "U"


def test_a_saved_model_scores_alike(data: PairDataset, model: JLSE, tmp_path: Path) -> None:
    for method in ("sigmoid", "isotonic"):
        kept = fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN])
        kept.calibrate(data.S, data.X[NEW], data.Y[NEW], cold=None, method=method)
        kept.save(tmp_path / "pairs.unseen")
        again = unseen.load(tmp_path / "pairs.unseen")
        for ask in ("score_pairs", "predict_pairs", "pair_probabilities"):
            expected = getattr(kept, ask)(data.S, data.X[NEW])
            np.testing.assert_array_equal(getattr(again, ask)(data.S, data.X[NEW]), expected)
        with pytest.raises(InputError, match="without names"):
            again.predict(data.X)


# -- decisions ----------------------------------------------------------------------------------


def test_the_threshold_decides(data: PairDataset, model: JLSE) -> None:
    scores = model.score_pairs(data.S, data.X[NEW])
    for threshold in (None, 0.3, -1.0):
        found = model.predict_pairs(data.S, data.X[NEW], threshold)
        np.testing.assert_array_equal(found, np.where(scores >= (threshold or 0.0), 1, -1))


def f1(found: np.ndarray, Y: np.ndarray) -> float:
    hits = np.sum((found > 0) & (Y > 0))
    return 2 * hits / (np.sum((found > 0) & (Y != 0)) + np.sum(Y > 0))


@pytest.mark.parametrize("cold", [None, "targets", "sources", "both"])
def test_calibration_learns_the_threshold_and_the_probability(
    data: PairDataset, cold: str | None
) -> None:
    """Tested on what it is learned for: new targets, new sources, or both."""
    sources = slice(0, 24) if cold in (None, "targets") else slice(0, 16)
    S, X, Y = data.S[sources], data.X[KNOWN], data.Y[KNOWN, sources]
    kept = fast().fit_pairs(S, X, Y)
    if cold is None:
        X, Y = data.X[90:105], data.Y[90:105]
    assert kept.calibrate(S, X, Y, cold=cold, n_splits=4) is kept
    targets = {None: slice(105, 120), "sources": KNOWN}.get(cold, NEW)
    new = sources if cold in (None, "targets") else slice(16, 24)
    S_new, X_new, Y_new = data.S[new], data.X[targets], data.Y[targets, new]
    known, truth = Y_new != 0, Y_new > 0
    found = kept.predict_pairs(S_new, X_new)
    assert f1(found, Y_new) > f1(np.ones_like(found), Y_new) + 0.1
    p = kept.pair_probabilities(S_new, X_new)
    assert ((p > 0) & (p < 1)).all()
    share = (Y > 0).sum() / (Y != 0).sum()
    brier = np.mean((p - truth)[known] ** 2)
    assert brier < 0.85 * np.mean((share - truth)[known] ** 2)
    assert abs(p[known].mean() - truth[known].mean()) < 0.1
    order = np.argsort(kept.score_pairs(S_new, X_new), axis=None)
    assert (np.diff(p.ravel()[order]) >= 0).all()


def test_cold_calibration_does_not_touch_the_model(data: PairDataset, model: JLSE) -> None:
    kept = fast().fit_pairs(data.S, data.X[KNOWN], data.Y[KNOWN])
    kept.calibrate(data.S, data.X[KNOWN], data.Y[KNOWN], goal="balanced")
    np.testing.assert_array_equal(kept.latent_.W, model.latent_.W)


def test_bad_calibration_is_named(data: PairDataset, model: JLSE) -> None:
    with pytest.raises(InputError, match="call calibrate first"):
        model.pair_probabilities(data.S, data.X)
    options: list[dict[str, Any]] = [{"goal": "best"}, {"method": "beta"}, {"cold": "rows"}]
    for bad in options:
        with pytest.raises(InputError, match=r"must be '.* or .*, not '"):
            model.calibrate(data.S, data.X, data.Y, **bad)


def test_class_models_decide_on_pairs_too() -> None:
    zero_shot = make_zero_shot(12, 4, 15, 16, 10, 4)
    model = fast().fit(*zero_shot.training_set(), classes=zero_shot.classes)
    table, (X, y) = zero_shot.classes.select(zero_shot.unseen), zero_shot.unseen_set()
    Y = np.where(table.names == y[:, None], 1, -1)
    with pytest.raises(InputError, match=r"fitted on class labels.*cold=None"):
        model.calibrate(table.vectors, X, Y)
    model.calibrate(table.vectors, X, Y, cold=None, goal="balanced")
    assert f1(model.predict_pairs(table.vectors, X), Y) > 0.6


def test_frames_meet_by_name(data: PairDataset) -> None:
    names = [f"drug {k}" for k in range(data.S.shape[0])]
    S = pd.DataFrame(data.S, index=names, columns=[f"s{k}" for k in range(data.S.shape[1])])
    X = pd.DataFrame(data.X[KNOWN], columns=[f"x{k}" for k in range(data.X.shape[1])])
    Y = pd.DataFrame(data.Y[KNOWN], columns=names)
    whole = fast().fit_pairs(S, X, Y)
    turned = fast().fit_pairs(S, X, Y.iloc[:, ::-1])
    assert turned.score_pairs(S, X).tobytes() == whole.score_pairs(S, X).tobytes()
    whole.calibrate(S, X, Y.iloc[:, ::-1], cold=None)
    turned.calibrate(S, X, Y, cold=None)
    assert whole.pair_threshold_ == turned.pair_threshold_
    for cold in (None, "targets"):
        with pytest.raises(ValueError, match="feature names"):
            whole.calibrate(S, X.iloc[:, ::-1], Y, cold=cold)
    with pytest.raises(InputError, match="cold must be 'sources', 'targets', 'both' or None"):
        whole.calibrate(S, X, Y, cold="target")
    assert (
        evaluate_pairs(whole, S, X, Y).roc_auc
        == evaluate_pairs(whole, S, X, Y[names[::-1]]).roc_auc
    )
