"""Probabilities of candidates, the answer "none of these", and the temperature behind them."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import unseen
from tests.common.command import run_unseen
from unseen import ESZSL, SAE, GaussianMatch, InputError, make_zero_shot
from unseen.estimators import METHODS
from unseen.estimators.calibration import HeldOut, best_temperature
from unseen.inference.relative import probabilities


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(
        12, 4, 15, n_features=16, n_attributes=20, noise=0.7, table_noise=0.3, random_state=3
    )


@pytest.fixture(scope="module")
def model(data: Any) -> Any:
    X, y = data.training_set()
    return ESZSL().fit(X, y, classes=data.classes).calibrate_seen(X, y)


def drawn(seed: int, temperature: float, size: int = 4000) -> HeldOut:
    """Scores whose softmax at this temperature is the truth."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(size, 5))
    p = softmax(scores / temperature, axis=1)
    truth = (rng.random((size, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return HeldOut(scores, truth)


@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0, 4.0])
def test_the_temperature_that_made_the_labels_is_found(temperature: float) -> None:
    found = best_temperature([drawn(seed, temperature) for seed in (0, 1)])
    assert found == pytest.approx(temperature, rel=0.1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_agrees_with_a_general_solver_and_follows_the_scale(scale: float) -> None:
    scores, truth = drawn(3, 0.7, 300)
    sizes = np.bincount(truth)

    def loss(beta: Any) -> float:
        p = softmax(scores * beta, axis=1)[np.arange(truth.size), truth]
        return -float(np.sum(np.log(p) / sizes[truth]))

    expected = 1 / minimize(loss, [1.0], method="Nelder-Mead", tol=1e-9).x[0]
    found = best_temperature([HeldOut(scale * scores, truth)])
    assert found == pytest.approx(scale * expected, rel=1e-4)


def test_scores_of_minus_infinity_and_ties_have_a_temperature() -> None:
    scores, truth = drawn(3, 0.7, 300)
    scores[::7, 2] = -np.inf
    assert np.isfinite(best_temperature([HeldOut(scores, truth)]))
    even = best_temperature([HeldOut(np.zeros((9, 3)), np.arange(9) % 3)])
    np.testing.assert_allclose(probabilities(np.zeros((2, 3)), even), 1 / 3)


def test_probabilities_of_unseen_classes_say_more_than_equal_ones() -> None:
    data = make_zero_shot(40, 12, 40, noise=1.2, table_noise=0.4, random_state=1)
    X, y = data.training_set()
    new, truth = data.unseen_set()
    for make in (ESZSL, SAE):
        model = make().fit(X, y, classes=data.classes)
        column = np.searchsorted(model.classes_, truth), model.similarities(new)
        plain = log_softmax(column[1], axis=1)[np.arange(truth.size), column[0]].mean()
        p = model.calibrate_seen(X, y).predict_proba(new)
        right = np.log(p[np.arange(truth.size), column[0]]).mean()
        assert right > max(plain, np.log(1 / 12)) + 0.3
        sure = p.max(axis=1)
        share = [(model.predict(new) == truth)[part].mean() for part in (sure > 0.6, sure < 0.3)]
        assert share[0] > share[1] + 0.3


@pytest.mark.parametrize("name", ["eszsl", "dap", "jlse", "sse-relu", "ensemble"])
def test_every_method_gives_probabilities_once_calibrated(name: str, data: Any) -> None:
    X, y = data.training_set()
    new = data.unseen_set()[0]
    model = METHODS[name]().fit(X, y, classes=data.classes)
    if name == "jlse":
        assert not hasattr(model, "predict_proba")
        with pytest.raises(InputError, match=r"JLSE become probabilities .* call calibrate_seen"):
            model.predict_proba(new)
    model.calibrate_seen(X, y)
    for among in (None, "all", data.unseen[:2].tolist()):
        p = model.predict_proba(new, among)
        assert p.shape == model.similarities(new, among).shape
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(
            p.argmax(axis=1), model.similarities(new, among).argmax(axis=1)
        )


def test_gaussian_match_needs_no_calibration_and_obeys_one(data: Any) -> None:
    X, y = data.training_set()
    new = data.unseen_set()[0]
    model = GaussianMatch().fit(X, y, classes=data.classes)
    learned = []
    for _ in range(2):
        expected = softmax(model.similarities(new) / model.temperature_, axis=1)
        np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-4)
        learned.append(model.temperature_)
        model.calibrate_seen(X, y)
    assert learned[0] != learned[1]


def test_none_of_these_is_the_answer_below_the_threshold(data: Any, model: Any) -> None:
    new = data.unseen_set()[0]
    p = model.predict_proba(new).max(axis=1)
    limit = float(np.median(p))
    found = model.predict(new, reject=limit)
    assert [name is None for name in found] == (p < limit).tolist()
    kept = p >= limit
    np.testing.assert_array_equal(found[kept], model.predict(new)[kept])
    assert None not in model.predict(new, reject=0.0).tolist()
    for bad in (-0.1, 1.1, np.nan, "x", True):
        with pytest.raises(InputError, match="reject"):
            model.predict(new, reject=bad)
    with pytest.raises(InputError, match="calibrate_seen"):
        ESZSL().fit(*data.training_set(), classes=data.classes).predict(new, reject=0.5)


def test_the_temperature_is_saved_and_goes_along(data: Any, model: Any, tmp_path: Path) -> None:
    new = data.unseen_set()[0]
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert model.reveal({"new": data.classes.vectors.mean(axis=0)}).predict_proba(new).shape[1] == 5
    model.fit(*data.training_set(), classes=data.classes)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("bad", [0.0, -1.0, "x"])
def test_a_forged_temperature_is_refused(bad: Any, data: Any, tmp_path: Path) -> None:
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    model.temperature_ = bad
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="temperature"):
        unseen.load(tmp_path / "model")


def test_the_command_line_rejects_by_probability(tmp_path: Path) -> None:
    file, rows = tmp_path / "m.unseen", tmp_path / "rows.npy"
    assert run_unseen("fit", "digits", "-m", "gaussian-match", "--out", file).code == 0
    model, data = unseen.load(file), unseen.open_dataset("digits")
    np.save(rows, data.X[:30])
    p = model.predict_proba(data.X[:30]).max(axis=1)
    limit = float(np.median(p))
    found = run_unseen("predict", file, rows, "--reject", str(limit), "--json").json
    assert [line["class"] for line in found] == model.predict(data.X[:30], reject=limit).tolist()
    np.testing.assert_allclose([line["probability"] for line in found], p, rtol=1e-5)
    scores, rejected = model.top_k(data.X[:30], 1).scores[:, 0].tolist(), p < limit
    expected = [None if no else score for score, no in zip(scores, rejected, strict=True)]
    assert [line["score"] for line in found] == expected, "a score is that of the class beside it"
    assert "none of these" in run_unseen("predict", file, rows, "--reject", "1").out
    many = ["predict", file, rows, "--reject", "1", "--top", "2"]
    assert not re.search(r"none of these *-?[\d;]", run_unseen(*many).out)
    line = run_unseen(*many, "--json").json[0]
    assert (line["class 1"], line["score 1"]) == (None, None)
    assert line["class 2"] == model.top_k(data.X[:1], 2).names[0, 1]
    for more in ([], ["--json"]):
        assert run_unseen(*many, "--out", tmp_path / "p.csv", *more).code == 0
        with (tmp_path / "p.csv").open(newline="") as made:
            cells = next(csv.DictReader(made))
        assert (cells["class 1"], cells["score 1"]) == ("none of these", "")
        assert cells["class 2"] == str(line["class 2"])
    assert run_unseen("predict", file, rows, "--reject", "2").code == 2
