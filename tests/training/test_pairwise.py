"""Algorithm 1: G, summed over pairs in float64, never rises, and lies below J of Algorithm 2."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import loss_of, objective, scaled_rows
from tests.oracles.pairs import hinge_qp
from tests.training.test_alternating import brute_force, start
from unseen.model.objective import Codes, Lambdas
from unseen.pairs.loss import LOSSES, Omega, Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaling
from unseen.solvers.block import Effort
from unseen.solvers.pair_similarity import PairFeatures, fit_pair_similarity
from unseen.solvers.similarity import SimilarityState
from unseen.training import pairwise as module
from unseen.training.alternating import Data, Training, is_done
from unseen.training.pairwise import PairwiseTraining, Parameters


def all_codes(training: PairwiseTraining) -> tuple[np.ndarray, np.ndarray]:
    """z_s(ij), N x C x h_s, and z_t(ij), N x C x h_t."""
    source, target = [], []
    for rows, block in training._pass.blocks():
        assert block.Zs is not None
        source.append(block.Zs)
        target.append(training._pass.codes.target_codes(training._pass.Zt0[rows], block))
    return np.concatenate(source), np.concatenate(target)


def run(training: PairwiseTraining, max_rounds: int, tol: float = 0.0) -> None:
    while not is_done(training.history, max_rounds, tol):
        training.run_round()


def written_out(
    training: PairwiseTraining, Zs: Any, Zt: Any, parameters: Parameters | None = None
) -> float:
    """G at given codes of all pairs, by a loop over them in float64."""
    t, w, pairs = training, training.lambdas, training.pairs
    p = training.parameters if parameters is None else parameters
    B, D, W = (np.asarray(a, np.float64) for a in p)
    X, S = scaled_rows(t.rows.X, t.rows.scaling), np.asarray(t.S, np.float64)
    total = 0.0
    for j, i in np.ndindex(len(X), len(S)):
        z_s, z_t = np.asarray(Zs[j, i], np.float64), np.asarray(Zt[j, i], np.float64)
        fit = w.source_shrink * z_s @ z_s + w.source_fit * np.sum((S[i] - B @ z_s) ** 2)
        fit += w.target_shrink * z_t @ z_t + w.target_fit * np.sum((X[j] - D @ z_t) ** 2)
        y = pairs.labels[j, i] if pairs.labels.ndim == 2 else (1 if pairs.labels[j] == i else -1)
        omega = abs(y) * (pairs.omega.positive if y > 0 else pairs.omega.negative)
        loss = loss_of(float(np.sign(y) * (z_s @ W @ z_t)), pairs.loss)
        total += 0.5 * fit / (len(X) * len(S)) + omega * loss
    return float(total + 0.5 * w.similarity * np.sum(W**2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_block_raises_the_objective(loss: str, dtype: Any) -> None:
    training = PairwiseTraining(start(loss, dtype))
    values = [("start", training.history[-1].total)]

    def watch(n_round: int, block: str, parameters: Parameters) -> None:
        value = written_out(training, *all_codes(training), parameters)
        values.append((f"{block} of round {n_round}", value))

    for n_round in range(2):
        training.run_round(watch)
        found = written_out(training, *all_codes(training))
        assert training.history[-1].total == pytest.approx(found, rel=1e-5)
        values.append((f"codes of round {n_round + 2}", found))
    for (_, before), (name, now) in pairwise(values):
        assert now <= before + 1e-6 * abs(before), name
    assert values[-1][1] < 0.99 * values[0][1]
    assert np.linalg.norm(training.parameters.D.astype(float), axis=0).max() <= 1 + 1e-6
    assert training.parameters.W.dtype == dtype


@pytest.mark.parametrize("seed", range(1, 3))
def test_no_round_raises_the_objective_where_hinges_are_strong(seed: int) -> None:
    training = PairwiseTraining(start("hinge", seed=seed, target_fit=0.3, penalty=1e-3))
    run(training, 3)
    totals = [parts.total for parts in training.history]
    assert (np.diff(totals) <= 0).all(), totals
    assert totals[-1] < totals[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_relaxation_bounds_it(loss: str) -> None:
    """Eq. (obj) is a lower bound of Eq. (gen_obj): with the same B, D, W one code per instance
    costs at least what one code per pair does, at the start and after any round of Algorithm 2."""
    relaxed = start(loss)
    for n_rounds in (1, 2, 3):
        G = PairwiseTraining(relaxed).history[-1].total
        assert brute_force(relaxed) + 1e-9 >= G
        relaxed.run(n_rounds)
    coupled = PairwiseTraining(start(loss))
    run(coupled, 3)
    assert coupled.history[-1].total <= brute_force(relaxed)


def test_shared_codes_make_it_the_objective_of_algorithm_2() -> None:
    training = start()
    Zs = np.broadcast_to(training.Zs, (48, *training.Zs.shape))
    Zt = np.repeat(training.Zt[:, None], 6, axis=1)
    found = written_out(PairwiseTraining(training), Zs, Zt)
    assert found == pytest.approx(brute_force(training))


def one_pair(loss: str) -> Training:
    rng = np.random.default_rng(5)
    S, X = rng.standard_normal((1, 5)), rng.standard_normal((1, 6))
    data = Data(
        S, TrainingRows(X, RowScaling(False, None)), Pairs(np.zeros(1), 1, Omega(1, 1), loss)
    )
    B, D = rng.standard_normal((5, 3)), np.linalg.qr(rng.standard_normal((6, 4)))[0]
    training = Training(data, Lambdas(0.3, 1.0, 0.2, 1.0, 0.05), Effort(1e-6), B, D)
    training.fit_similarity()
    return training


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_and_one_row_are_algorithm_2(loss: str) -> None:
    """There is one pair, so that both have the same objective; and the same minimum, where the
    loss is smooth. At the knee of the hinge a block alone cannot go on, two codes together can."""
    relaxed = one_pair(loss)
    coupled = PairwiseTraining(relaxed)
    Zs, Zt = all_codes(coupled)
    codes = Codes(Zs[0], Zt[0], *coupled.parameters)
    X = scaled_rows(relaxed.rows.X, relaxed.rows.scaling)
    same = sum(objective(relaxed.S, X, relaxed.pairs, codes, relaxed.lambdas))
    assert coupled.history[-1].total == pytest.approx(same)
    run(coupled, 100, tol=1e-8)
    relaxed.run(100, tol=1e-8)
    J = relaxed.history[-1].total
    assert PairwiseTraining(relaxed).history[-1].total <= J * (1 + 1e-9)
    if loss == "squared_hinge":
        assert coupled.history[-1].total == pytest.approx(J, rel=1e-4)
    else:
        assert coupled.history[-1].total < J


@pytest.mark.parametrize("kept_bytes", [0, 2**30])
def test_block_size_does_not_matter(kept_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", kept_bytes)
    whole = PairwiseTraining(start())
    monkeypatch.setattr(module, "BLOCK_BYTES", 7 * 8 * 6 * (6 + 5))
    blocked = PairwiseTraining(start())
    assert [r.stop - r.start for r, _ in blocked._pass.blocks()] == [7] * 6 + [6]
    np.testing.assert_allclose(blocked.history[-1], whole.history[-1], rtol=1e-9)
    for sums, expected in zip(blocked._pass.sums, whole._pass.sums, strict=True):
        np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)
    run(blocked, 2)
    monkeypatch.undo()
    run(whole, 2)
    # W is solved to a tolerance, and visits pairs in another order.
    np.testing.assert_allclose(
        np.array(blocked.history), np.array(whole.history), rtol=0.02, atol=1e-3
    )


def test_sums_are_those_of_the_codes() -> None:
    training = PairwiseTraining(start())
    Zs, Zt = all_codes(training)
    sums = training._pass.sums
    np.testing.assert_allclose(sums.source_gram, np.einsum("jih,jik->hk", Zs, Zs))
    np.testing.assert_allclose(sums.source_sums, Zs.sum(axis=0))
    np.testing.assert_allclose(sums.target_gram, np.einsum("jih,jik->hk", Zt, Zt))
    np.testing.assert_allclose(sums.target_sums, Zt.sum(axis=1))


def test_signs_that_follow_from_classes_are_class_numbers() -> None:
    found = []
    for relaxed in (start(), start(signs="classes")):
        training = PairwiseTraining(relaxed)
        run(training, 2)
        found.append(np.array(training.history))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)


@pytest.mark.parametrize("signs", ["some", "weighted"])
def test_unknown_pairs_have_no_loss_and_weighted_ones_have_more(signs: str) -> None:
    training = PairwiseTraining(start(signs=signs))
    run(training, 2)
    found = written_out(training, *all_codes(training))
    assert training.history[-1].total == pytest.approx(found)
    assert training.history[2].total <= training.history[1].total <= training.history[0].total


@pytest.mark.parametrize("loss", LOSSES)
def test_the_w_step_equals_a_general_solver(loss: str) -> None:
    """On the features z_s z_t' of each pair, written out."""
    rng = np.random.default_rng(2)
    Zs, Zt = rng.standard_normal((5, 3, 2)), rng.standard_normal((5, 3, 3))
    signs = rng.choice([-1.0, 0.0, 1.0], (5, 3)) * rng.uniform(0.5, 5.0, (5, 3))
    pairs, lambda_W = Pairs(signs, 3, Omega(0.03, 0.02), loss), 0.02

    def blocks() -> Any:
        for rows in (slice(0, 2), slice(2, 5)):
            yield PairFeatures(rows, Zs[rows], Zt[rows])

    state = SimilarityState(np.zeros((5, 3)), np.ones((2, 3)))
    found = fit_pair_similarity(blocks, pairs, lambda_W, state, Effort(1e-7, 3000))
    F, V = np.einsum("jia,jib->jiab", Zs, Zt).reshape(15, 6), pairs.signed_omega().ravel()
    H, r = lambda_W * np.eye(6), np.zeros(6)
    best = hinge_qp(H, r, F, np.sign(V), np.abs(V), loss=loss)
    assert found.objective == pytest.approx(best, rel=1e-5)
    assert found.optimality <= 1e-7
    again = fit_pair_similarity(
        blocks, pairs, lambda_W, state._replace(W=found.value), Effort(max_iter=0)
    )
    np.testing.assert_array_equal(again.value, found.value)


def test_rounds_end_when_the_objective_hardly_falls() -> None:
    training = PairwiseTraining(start())
    run(training, 20, tol=0.05)
    totals = [parts.total for parts in training.history]
    assert 1 < len(totals) < 20
    assert 1 - totals[-1] / totals[-2] <= 0.05
