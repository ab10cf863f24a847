"""Algorithm 3: scores against the general model, decisions, links, blocks, and the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import scaled_rows
from unseen import JLSE, InputError, load, make_zero_shot
from unseen.metrics import per_class_accuracy
from unseen.model.joint import Bilinear, DictionaryTerm, Joint
from unseen.solvers.source_codes import SETS


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(12, 4, 12, 14, 10, 5, noise=0.4, random_state=2)


def fit(data: Any, **parameters: Any) -> JLSE:
    X, y = data.training_set()
    chosen = {"n_target_atoms": 8, "row_kernel": "linear", "calibration": None, "max_iter": 1}
    model = JLSE(**{**chosen, "inference": "pairwise", **parameters})
    return model.fit(X, y, classes=data.classes)


def joint_scores(model: JLSE, data: Any, X: np.ndarray) -> np.ndarray:
    """F of Eq. (gen_sim) by plain alternation, for the classes and rows of a fitted model."""
    p = model.get_params()
    S = model.class_scaling_(data.classes.select(model.classes_).vectors)
    fits = p["test_source_fit"], p["test_target_fit"]
    source, target = (
        DictionaryTerm(model.source_dictionary_.astype(float), p["source_shrinkage"] * fits[0],
                       fits[0], p["source_set"]),
        DictionaryTerm(model.target_dictionary_.astype(float), p["target_shrinkage"] * fits[1],
                       fits[1]),
    )  # fmt: skip
    W = Bilinear(model.similarity_.astype(float), model.bias_, loss=p["loss"], link="saturating")
    return Joint(source, target, W).scores(S, scaled_rows(X, model.scaling_))


@pytest.mark.parametrize("source_set", SETS)
def test_scores_are_f_of_the_general_model_less_a_number_a_row(data: Any, source_set: str) -> None:
    model = fit(data, source_set=source_set, link="saturating", test_source_fit=50.0,
                test_target_fit=50.0)  # fmt: skip
    X = data.unseen_set()[0][:9]
    expected = joint_scores(model, data, X)
    found = model.decision_function(X)
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], atol=1e-5 * np.abs(expected).max()
    )


@pytest.mark.parametrize("decision", [1, 2])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("source_set", SETS)
def test_with_codes_that_hardly_move_it_is_decision_1_or_2(
    data: Any, source_set: str, loss: str, decision: int
) -> None:
    model = fit(data, source_set=source_set, loss=loss, decision=decision, test_target_fit=1e7)
    model.set_params(test_source_fit=1e7 if decision == 1 else 2.0)
    X = data.unseen_set()[0]
    if decision == 2:
        # All but the codes of classes, which move: no pair may lose by it.
        found = model.set_params(link="saturating").decision_function(X)
        still = model.set_params(inference="instance", test_embedding="init").decision_function(X)
        assert (found >= still - 1e-4 * np.abs(still).max()).all()
        return
    found = model.decision_function(X)
    still = model.set_params(inference="instance", test_embedding="init").decision_function(X)
    np.testing.assert_allclose(found, still, atol=1e-3 * np.ptp(still))


def test_margins_tell_pairs_apart_that_need_not_move(data: Any) -> None:
    """With link "margin" the score is that of "saturating" plus how far s is beyond 1."""
    model = fit(data, loss="hinge", decision=1, link="saturating")
    model.bias_ += 3.0
    X = data.unseen_set()[0]
    saturated = model.decision_function(X)
    margin = model.set_params(link="margin").decision_function(X)
    assert np.count_nonzero(saturated > -1e-6) > 10
    kept = saturated > -1e-6
    assert np.unique(np.round(margin[kept], 5)).size > 0.9 * kept.sum()
    assert (margin - 1 >= saturated - 1e-5).all()
    np.testing.assert_allclose(margin[~kept] - 1, saturated[~kept], atol=1e-4)


@pytest.mark.parametrize("source_set", SETS)
def test_block_size_does_not_matter(
    data: Any, source_set: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fit(data, source_set=source_set)
    X = data.unseen_set()[0]
    whole = model.decision_function(X)
    monkeypatch.setattr("unseen.blocks.row_blocks.__defaults__", (1,))
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-5, atol=1e-6)


def test_float32_in_float32_out(data: Any) -> None:
    X, y = data.training_set()
    rows, labels = data.unseen_set()
    found = []
    for dtype in (np.float32, np.float64):
        model = JLSE(8, inference="pairwise", decision=1, calibration=None, row_kernel="linear")
        model.fit(X.astype(dtype), y, classes=data.classes)
        scores = model.decision_function(rows.astype(dtype))
        assert scores.dtype == dtype
        found.append(scores)
        assert per_class_accuracy(labels, model.predict(rows.astype(dtype))) > 0.5
    assert np.mean(found[0].argmax(axis=1) == found[1].argmax(axis=1)) > 0.95


def test_it_is_a_choice_of_test_time_and_is_saved(data: Any, tmp_path: Any) -> None:
    model = fit(data, inference="instance")
    X = data.unseen_set()[0]
    by_instance = model.decision_function(X)
    assert "inference" in model.test_time_parameters
    by_pair = model.set_params(inference="pairwise").decision_function(X)
    assert not np.allclose(by_pair, by_instance)
    np.testing.assert_allclose(by_pair, fit(data).decision_function(X))
    model.save(tmp_path / "pairs.unseen")
    again: Any = load(tmp_path / "pairs.unseen")
    np.testing.assert_allclose(again.decision_function(X), by_pair)
    assert model.predict(X, candidates="all").shape == (len(X),)


def test_calibration_is_learned_for_it(data: Any) -> None:
    X, y = data.training_set()
    model = JLSE(8, inference="pairwise", generalized=True, max_iter=0, row_kernel="linear")
    model.fit(X, y, classes=data.classes)
    assert np.isfinite(model.calibration_)
    assert model.classes_.size == 16


def test_another_word_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="inference must be one of"):
        fit(data, inference="triplewise")
