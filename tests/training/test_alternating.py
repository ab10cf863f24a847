"""Algorithm 2: J, summed over all pairs in float64 by the oracle, never rises, block by block."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import objective, scaled_rows
from unseen import make_zero_shot
from unseen.model.latent import Spaces
from unseen.model.objective import Codes, Lambdas
from unseen.pairs.loss import LOSSES, Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import ClassScaling, RowScaler
from unseen.solvers.block import Effort
from unseen.solvers.dictionary import initial_source_dictionary, initial_target_dictionary
from unseen.training.alternating import Data, Training


def start(
    loss: str = "squared_hinge",
    dtype: Any = np.float64,
    *,
    seed: int = 0,
    order: Any = None,
    classes: Any = None,
    target_fit: float = 2.0,
    penalty: float = 1e-2,
    tol: float = 1e-3,
    n_atoms: int | None = None,
    signs: str = "",
) -> Training:
    """Six classes of eight rows, all blocks free to move; `order` and `classes` permute them.

    `signs`: labels of pairs instead, "some" of them unknown, "weighted", or those of the "classes".
    """
    data = make_zero_shot(6, 0, 8, 10, 7, 4, noise=0.8, random_state=seed, dtype=dtype)
    labels = np.repeat(np.arange(6), 8)
    X = data.X if order is None else data.X[order]
    labels = labels if order is None else labels[order]
    S = data.classes.vectors.astype(dtype)
    S = S / np.linalg.norm(S, axis=1, keepdims=True)
    if classes is not None:
        S, labels = S[classes], np.argsort(classes)[labels]
    rows = TrainingRows(X, RowScaler(True, True).learn(X, True))
    if signs:
        rng = np.random.default_rng(seed)
        labels = np.where(np.arange(6) == labels[:, None], 1, -1).astype(np.int8)
        if signs != "classes":
            labels *= rng.choice([-1, 0, 1], labels.shape, p=[0.1, 0.3, 0.6]).astype(np.int8)
        if signs == "weighted":
            labels = (labels * rng.uniform(0.2, 3, labels.shape)).astype(dtype)
    pairs = Pairs.weighted(labels, 6, 3.0, loss)
    lambdas = Lambdas(0.2, 0.5, 0.2, target_fit, penalty)
    B = initial_source_dictionary(S, n_atoms, 0)
    D = initial_target_dictionary(rows, 5, 0)
    training = Training(Data(S, rows, pairs), lambdas, Effort(tol), B, D)
    training.fit_similarity()
    return training


def brute_force(training: Training, codes: Codes | None = None) -> float:
    X = scaled_rows(training.rows.X, training.rows.scaling)
    codes = training.codes if codes is None else codes
    return sum(objective(training.S, X, training.pairs, codes, training.lambdas))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_block_raises_the_objective(loss: str, dtype: Any) -> None:
    training = start(loss, dtype)
    values, moved = [("start", brute_force(training))], {}
    last = {"codes": training.codes}

    def watch(n_round: int, block: str, codes: Codes) -> None:
        values.append((f"{block} of round {n_round}", brute_force(training, codes)))
        moved[block] = max(
            moved.get(block, 0.0),
            float(np.abs(getattr(codes, block) - getattr(last["codes"], block)).max()),
        )
        last["codes"] = codes
        _check_sets(codes)

    training.run(3, callback=watch)
    assert len(values) == 16
    for (_, before), (name, now) in pairwise(values):
        assert now <= before + 1e-6 * abs(before), name
    assert values[-1][1] < 0.99 * values[0][1]
    assert set(moved) == {"Zs", "Zt", "B", "D", "W"}
    assert min(moved.values()) > 1e-3, f"a block that does not move tests nothing: {moved}"
    totals = [parts.total for parts in training.history]
    np.testing.assert_allclose(totals, [v for _, v in values[::5]], rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("signs", ["some", "weighted"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_block_raises_the_objective_of_any_pairs(dtype: Any, signs: str, loss: str) -> None:
    training = start(loss, dtype, signs=signs)
    values = [("start", brute_force(training))]
    training.run(
        3, callback=lambda n, block, codes: values.append((block, brute_force(training, codes)))
    )
    for (_, before), (name, now) in pairwise(values):
        assert now <= before + 1e-6 * abs(before), name
    assert values[-1][1] < 0.99 * values[0][1]
    totals = [parts.total for parts in training.history]
    np.testing.assert_allclose(totals, [v for _, v in values[::5]], rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_labels_and_their_signs_train_alike(loss: str) -> None:
    by_class, by_sign = start(loss=loss, tol=1e-6), start(loss=loss, tol=1e-6, signs="classes")
    for training in (by_class, by_sign):
        training.run(2)
    np.testing.assert_allclose(np.array(by_sign.history), np.array(by_class.history), rtol=1e-4)
    scores = by_class.Zt @ by_class.W.T @ by_class.Zs.T
    found = by_sign.Zt @ by_sign.W.T @ by_sign.Zs.T
    np.testing.assert_allclose(found, scores, atol=1e-3 * np.ptp(scores))


def _check_sets(codes: Codes) -> None:
    assert np.linalg.norm(codes.D.astype(float), axis=0).max() <= 1 + 1e-6
    np.testing.assert_allclose(codes.Zs.sum(axis=1), 1, atol=1e-5)
    assert codes.Zs.min() >= -1e-7


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("target_fit", [0.3, 20.0])
@pytest.mark.parametrize("n_atoms", [None, 3])
def test_no_round_raises_the_objective_on_other_problems(
    seed: int, target_fit: float, n_atoms: int | None
) -> None:
    training = start("hinge", seed=seed, target_fit=target_fit, n_atoms=n_atoms)
    values = [brute_force(training)]
    for n_rounds in (1, 2, 3):
        training.run(n_rounds)
        values.append(brute_force(training))
    assert (np.diff(values) <= 1e-6 * values[0]).all(), values


def test_initial_codes_of_rows_are_ridge_regression() -> None:
    training = start()
    X, D = scaled_rows(training.rows.X, training.rows.scaling), training.D
    H = 0.2 * np.eye(5) + 2.0 * D.T @ D
    np.testing.assert_allclose(training.Zt, np.linalg.solve(H, 2.0 * D.T @ X.T).T, atol=1e-8)


def test_no_rounds_leave_the_initial_codes() -> None:
    training, fresh = start(), start()
    training.run(0)
    assert len(training.history) == 1
    for found, expected in zip(training.codes, fresh.codes, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_tol_stops_when_the_objective_hardly_falls() -> None:
    free, short, shorter = start(), start(), start()
    free.run(12)
    short.run(12, tol=0.02)
    shorter.run(12, tol=0.9)
    assert len(shorter.history) == 2 < len(short.history) < len(free.history)
    totals = np.array([parts.total for parts in short.history])
    falls = -np.diff(totals) / totals[:-1]
    assert (falls[:-1] > 0.02).all()
    assert falls[-1] <= 0.02


def test_rounds_one_by_one_equal_rounds_at_once() -> None:
    once, single = start(), start()
    once.run(2)
    single.run(1)
    single.run(2)
    for found, expected in zip(single.codes, once.codes, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_order_of_rows_does_not_matter() -> None:
    order = np.random.default_rng(3).permutation(48)
    straight, other = (start(tol=1e-6, order=o) for o in (None, order))
    for training in (straight, other):
        training.run(2)
    assert brute_force(other) == pytest.approx(brute_force(straight), rel=1e-3)
    scores = straight.Zt @ straight.W.T @ straight.Zs.T
    np.testing.assert_allclose(
        other.Zt @ other.W.T @ other.Zs.T, scores[order], atol=0.02 * np.ptp(scores)
    )


def test_order_of_classes_does_not_matter() -> None:
    classes = np.array([4, 0, 5, 2, 1, 3])
    straight, other = (start(tol=1e-6, classes=c) for c in (None, classes))
    for training in (straight, other):
        training.run(2)
    assert brute_force(other) == pytest.approx(brute_force(straight), rel=1e-3)
    scores = straight.Zt @ straight.W.T @ straight.Zs.T
    np.testing.assert_allclose(
        other.Zt @ other.W.T @ other.Zs.T, scores[:, classes], atol=0.02 * np.ptp(scores)
    )


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = start(tol=1e-6)
    whole.run(2)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (200,))
    blocked = start(tol=1e-6)
    blocked.run(2)
    scores = whole.Zt @ whole.W.T @ whole.Zs.T
    found = blocked.Zt @ blocked.W.T @ blocked.Zs.T
    np.testing.assert_allclose(found, scores, atol=1e-3 * np.ptp(scores))
    np.testing.assert_allclose(np.array(blocked.history), np.array(whole.history), rtol=1e-4)


def test_relative_penalty_is_in_units_of_the_codes() -> None:
    training = start()
    training.set_penalty(0.3)
    lengths = [np.mean([z @ z for z in Z]) for Z in (training.Zs, training.Zt)]
    assert training.lambdas.similarity == pytest.approx(0.3 * lengths[0] * lengths[1] / 6)


@pytest.mark.parametrize("n_blocks", range(11))
def test_training_resumes_from_its_state_to_the_same_codes(n_blocks: int) -> None:
    """Stopped after any block of two rounds."""
    whole = start(tol=1e-2)
    whole.run(2)
    stopped, left = start(tol=1e-2), [n_blocks]

    class StopError(Exception):
        pass

    def count(*_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise StopError

    with contextlib.suppress(StopError):
        stopped.run(2 if n_blocks else 0, callback=count)
    again = Training.restored(stopped.data, stopped.effort, stopped.state())
    again.run(2)
    assert again.history == whole.history
    for found, expected in zip(again.codes, whole.codes, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_parameters_from_elsewhere_get_codes_that_suit_them(loss: str) -> None:
    other, training = start(loss=loss, seed=1), start(loss=loss)
    elsewhere = (other.B, other.D, other.W)
    old = training.codes._replace(**dict(zip("BDW", elsewhere, strict=True)))
    training.adopt(*elsewhere)
    for found, given in zip(training.codes[2:], elsewhere, strict=True):
        np.testing.assert_array_equal(found, given)
    spaces = Spaces(training.rows.scaling, ClassScaling(False, None))
    assert training.model(spaces, "margin").is_coupled
    now = brute_force(training)
    assert training.objective().total == pytest.approx(now)
    assert now < 0.9 * brute_force(training, old)
    training.fit_target_codes()
    assert brute_force(training) == pytest.approx(now, rel=2e-3), "codes of rows are the best"


def test_the_model_has_the_lambdas_and_weights_of_training() -> None:
    training = start("hinge")
    spaces = Spaces(training.rows.scaling, ClassScaling(False, None))
    model = training.model(spaces, "saturating")
    w = training.lambdas
    assert (model.source_shrink, model.source_fit) == (w.source_shrink, w.source_fit)
    assert (model.target_shrink, model.target_fit) == (w.target_shrink, w.target_fit)
    assert (model.source_set, model.loss, model.link) == ("simplex", "hinge", "saturating")
    assert model.b == model.away_bias == 0
    assert not model.is_coupled
    # In units of the mean weight, of which there are one positive and five negative a row.
    assert model.positive_weight == pytest.approx(3 * model.negative_weight)
    assert (model.positive_weight + 5 * model.negative_weight) / 6 == pytest.approx(1)
    for name in ("Zs", "Zt", "B", "D", "W"):
        np.testing.assert_array_equal(getattr(model, name), getattr(training, name))
