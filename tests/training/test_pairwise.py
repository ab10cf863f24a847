"""Algorithm 1: G, summed over pairs in float64, never rises, and lies below J of Algorithm 2."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import loss_of, objective, scaled_rows
from tests.oracles.pairs import hinge_qp
from tests.training.test_alternating import LOSSES, SETS, brute_force, start
from unseen.model.objective import Codes, Weights
from unseen.pairs.weights import pair_weights
from unseen.rows.scaling import RowScaling
from unseen.rows.training import TrainingRows
from unseen.solvers.pair_similarity import PairFeatures, fit_pair_similarity
from unseen.training.alternating import Options, Training
from unseen.training.pairwise import PairwiseTraining, Parameters, signs_and_weights


def all_codes(training: PairwiseTraining) -> tuple[np.ndarray, np.ndarray]:
    """z_s(ij), N x C x h_s, and z_t(ij), N x C x h_t."""
    source, target = [], []
    for rows, block in training.blocks():
        assert block.Zs is not None
        source.append(block.Zs)
        target.append(training._pass.codes.target_codes(training._pass.Zt0[rows], block))
    return np.concatenate(source), np.concatenate(target)


def written_out(
    training: PairwiseTraining, Zs: Any, Zt: Any, parameters: Parameters | None = None
) -> float:
    """G at given codes of all pairs, by a loop over them in float64."""
    t, w = training, training.weights
    p = training.parameters if parameters is None else parameters
    B, D, W = (np.asarray(a, np.float64) for a in p[:3])
    X, S = scaled_rows(t.rows.X, t.rows.scaling), np.asarray(t.S, np.float64)
    total = 0.0
    for j, i in np.ndindex(len(X), len(S)):
        z_s, z_t = np.asarray(Zs[j, i], np.float64), np.asarray(Zt[j, i], np.float64)
        fit = w.source_shrink * z_s @ z_s + w.source_fit * np.sum((S[i] - B @ z_s) ** 2)
        fit += w.target_shrink * z_t @ z_t + w.target_fit * np.sum((X[j] - D @ z_t) ** 2)
        y = t.labels[j, i] if t.labels.ndim == 2 else (1 if t.labels[j] == i else -1)
        omega = abs(y) * (w.pairs.pos if y > 0 else w.pairs.neg)
        omega *= 1.0 if w.pairs.rows is None else w.pairs.rows[j]
        loss = loss_of(float(np.sign(y) * (z_s @ W @ z_t + p.b)), w.loss)
        total += 0.5 * fit / (len(X) * len(S)) + omega * loss
    penalty = np.sum(W**2) + ((p.b / w.bias_scale) ** 2 if w.bias_scale > 0 else 0.0)
    return float(total + 0.5 * w.similarity * penalty)


@pytest.mark.parametrize(("dtype", "uneven"), [(np.float32, False), (np.float64, True)])
@pytest.mark.parametrize(("source_set", "loss"), list(product(SETS, LOSSES)))
def test_no_block_raises_the_objective(
    source_set: str, loss: str, dtype: Any, uneven: bool
) -> None:
    training = PairwiseTraining.after(start(source_set, loss, dtype=dtype, uneven=uneven))
    values = [("start", training.objective().total)]

    def watch(n_round: int, block: str, parameters: Parameters) -> None:
        value = written_out(training, *all_codes(training), parameters)
        values.append((f"{block} of round {n_round}", value))

    for n_round in range(2):
        training.run_round(watch)
        found = written_out(training, *all_codes(training))
        assert training.objective().total == pytest.approx(found, rel=1e-5)
        values.append((f"codes of round {n_round + 2}", found))
    for (_, before), (name, now) in pairwise(values):
        assert now <= before + 1e-6 * abs(before), name
    assert values[-1][1] < 0.99 * values[0][1]
    assert np.linalg.norm(training.parameters.D.astype(float), axis=0).max() <= 1 + 1e-6
    assert training.parameters.W.dtype == dtype


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("source_set", SETS)
def test_no_round_raises_the_objective_where_hinges_are_strong(source_set: str, seed: int) -> None:
    training = PairwiseTraining.after(
        start(source_set, "hinge", seed=seed, target_fit=0.3, penalty=1e-3)
    )
    training.run(3)
    totals = [parts.total for parts in training.history]
    assert (np.diff(totals) <= 0).all(), totals
    assert totals[-1] < totals[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("source_set", SETS)
def test_the_relaxation_bounds_it(source_set: str, loss: str) -> None:
    """Eq. (obj) is a lower bound of Eq. (gen_obj): with the same B, D, W a code an instance costs
    at least what a code a pair does, at the start and after any round of Algorithm 2."""
    relaxed = start(source_set, loss)
    for _ in range(3):
        G = PairwiseTraining.after(relaxed).objective().total
        assert brute_force(relaxed) + 1e-9 >= G
        relaxed.run_round()
    coupled = PairwiseTraining.after(start(source_set, loss))
    coupled.run(3)
    assert coupled.objective().total <= brute_force(relaxed)


@pytest.mark.parametrize("source_set", SETS)
def test_shared_codes_make_it_the_objective_of_algorithm_2(source_set: str) -> None:
    training = start(source_set)
    Zs = np.broadcast_to(training.Zs, (48, *training.Zs.shape))
    Zt = np.repeat(training.Zt[:, None], 6, axis=1)
    found = written_out(PairwiseTraining.after(training), Zs, Zt)
    assert found == pytest.approx(brute_force(training))


def one_pair(source_set: str, loss: str) -> Training:
    rng = np.random.default_rng(5)
    S, X = rng.standard_normal((1, 5)), rng.standard_normal((1, 6))
    rows = TrainingRows(X, RowScaling(False, None))
    weights = Weights(0.3, 1.0, 0.2, 1.0, 0.05, pair_weights(1, 1, "uniform"), loss, 0.0)
    B, D = rng.standard_normal((5, 3)), np.linalg.qr(rng.standard_normal((6, 4)))[0]
    training = Training(S, rows, np.zeros(1, int), weights, Options(source_set, 1e-6, 0), B, D)
    training.fit_similarity()
    return training


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("source_set", SETS)
def test_one_class_and_one_row_are_algorithm_2(source_set: str, loss: str) -> None:
    """There is one pair, so that both have the same objective; and the same minimum, where the
    loss is smooth. At the knee of the hinge a block alone cannot go on, two codes together can."""
    relaxed = one_pair(source_set, loss)
    coupled = PairwiseTraining.after(relaxed)
    Zs, Zt = all_codes(coupled)
    codes = Codes(Zs[0], Zt[0], *coupled.parameters)
    X = scaled_rows(relaxed.rows.X, relaxed.rows.scaling)
    same = sum(objective(relaxed.S, X, relaxed.labels, codes, relaxed.weights))
    assert coupled.objective().total == pytest.approx(same)
    coupled.run(300, tol=1e-9)
    relaxed.run(300, tol=1e-9)
    J = relaxed.history[-1].total
    assert PairwiseTraining.after(relaxed).objective().total <= J * (1 + 1e-9)
    if loss == "squared_hinge":
        assert coupled.objective().total == pytest.approx(J, rel=1e-4)
    else:
        assert coupled.objective().total < J


@pytest.mark.parametrize("source_set", SETS)
@pytest.mark.parametrize("kept_bytes", [0, 2**30])
def test_block_size_does_not_matter(source_set: str, kept_bytes: int) -> None:
    row = 8 * 6 * (6 + 5)
    whole, blocked = (
        PairwiseTraining.after(start(source_set), block_bytes=n * row, kept_bytes=kept_bytes)
        for n in (1000, 7)
    )
    assert [r.stop - r.start for r, _ in blocked.blocks()] == [7] * 6 + [6]
    np.testing.assert_allclose(blocked.objective(), whole.objective(), rtol=1e-9)
    for sums, expected in zip(blocked._pass.sums, whole._pass.sums, strict=True):
        np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)
    whole.run(2)
    blocked.run(2)
    # W is solved to a tolerance, and visits pairs in another order.
    np.testing.assert_allclose(
        np.array(blocked.history), np.array(whole.history), rtol=0.02, atol=1e-3
    )


def test_sums_are_those_of_the_codes() -> None:
    training = PairwiseTraining.after(start("affine"))
    Zs, Zt = all_codes(training)
    sums = training._pass.sums
    np.testing.assert_allclose(sums.source_gram, np.einsum("jih,jik->hk", Zs, Zs))
    np.testing.assert_allclose(sums.source_sums, Zs.sum(axis=0))
    np.testing.assert_allclose(sums.target_gram, np.einsum("jih,jik->hk", Zt, Zt))
    np.testing.assert_allclose(sums.target_sums, Zt.sum(axis=1))


def test_signs_that_follow_from_classes_are_class_numbers() -> None:
    relaxed = start("affine")
    signs = np.where(np.arange(6) == relaxed.labels[:, None], 1, -1).astype(np.int8)
    found = []
    for labels in (relaxed.labels, signs):
        training = PairwiseTraining(
            relaxed.S, relaxed.rows, labels, relaxed.weights, relaxed.options, relaxed.codes
        )
        training.run(2)
        found.append(np.array(training.history))
    np.testing.assert_allclose(found[0], found[1])


def test_unknown_pairs_have_no_loss_and_weighted_ones_have_more() -> None:
    relaxed = start("simplex")
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 0.0, 1.0, 2.5], (48, 6))
    Y, omega = signs_and_weights(signs, slice(3, 9), 6, relaxed.weights)
    np.testing.assert_array_equal(Y, np.sign(signs[3:9]))
    pairs = relaxed.weights.pairs
    np.testing.assert_allclose(omega, np.choose(
        np.searchsorted([-1, 0, 1, 2.5], signs[3:9]), [pairs.neg, 0, pairs.pos, 2.5 * pairs.pos]
    ))  # fmt: skip
    training = PairwiseTraining(
        relaxed.S, relaxed.rows, signs, relaxed.weights, relaxed.options, relaxed.codes
    )
    training.run(2)
    found = written_out(training, *all_codes(training))
    assert training.objective().total == pytest.approx(found)
    assert training.history[2].total <= training.history[1].total <= training.history[0].total


@pytest.mark.parametrize("kappa", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_w_step_equals_a_general_solver(loss: str, kappa: float) -> None:
    """On the features z_s z_t' of each pair, written out."""
    rng = np.random.default_rng(2)
    Zs, Zt = rng.standard_normal((5, 3, 2)), rng.standard_normal((5, 3, 3))
    Y = rng.choice([-1, 0, 1], (5, 3)).astype(np.int8)
    omega, lam = rng.uniform(0.01, 0.1, (5, 3)), 0.02

    def blocks() -> Any:
        for rows in (slice(0, 2), slice(2, 5)):
            yield PairFeatures(rows, Zs[rows], Zt[rows], Y[rows], omega[rows])

    found = fit_pair_similarity(
        blocks, np.ones((2, 3)), 0.0, np.zeros((5, 3)), lam=lam, loss=loss, bias_scale=kappa,
        tol=1e-7, max_epochs=3000,
    )  # fmt: skip
    F = np.einsum("jia,jib->jiab", Zs, Zt).reshape(15, 6)
    F = np.column_stack([F, np.full(15, kappa)])
    best = hinge_qp(
        lam * np.eye(7), np.zeros(7), F, Y.ravel().astype(float), omega.ravel() * abs(Y.ravel()),
        loss=loss,
    )  # fmt: skip
    assert found.objective == pytest.approx(best, rel=1e-5)
    assert found.optimality <= 1e-7
    again = fit_pair_similarity(
        blocks, found.value.W, found.value.b, np.zeros((5, 3)), lam=lam, loss=loss,
        bias_scale=kappa, max_epochs=0,
    )  # fmt: skip
    np.testing.assert_array_equal(again.value.W, found.value.W)


def test_rounds_end_when_the_objective_hardly_falls() -> None:
    training = PairwiseTraining.after(start("affine"))
    training.run(20, tol=0.05)
    totals = [parts.total for parts in training.history]
    assert 1 < len(totals) < 20
    assert 1 - totals[-1] / totals[-2] <= 0.05
