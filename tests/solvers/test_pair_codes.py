"""Codes of pairs against a general solver, against one-code QPs, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles import qp
from tests.oracles.general import Dictionary, Hinge, maximise
from tests.oracles.pair_codes import Pair, minimum
from unseen import InputError
from unseen.solvers.block import Ridge
from unseen.solvers.pair_codes import PairBlock, PairCodes

LOSSES = ("hinge", "squared_hinge")
LAMBDAS = (0.5, 1.0, 0.4, 1.5)


class Problem:
    """Three classes and four rows; `size` of W decides whether codes hold together."""

    def __init__(self, seed: int, loss: str, size: float, b: float = 0.2) -> None:
        rng = np.random.default_rng(seed)
        shapes = ((5, 4), (6, 5), (4, 5), (3, 5), (4, 6))
        self.B, self.D, self.W, self.S, self.X = (rng.standard_normal(s) for s in shapes)
        self.W *= size
        self.b, self.loss = b, loss
        self.Y = rng.choice([-1, 1, 0], (4, 3), p=[0.45, 0.45, 0.1]).astype(np.int8)
        self.omega = rng.uniform(0.2, 2.0, (4, 3))

    @property
    def target(self) -> Ridge:
        return Ridge(self.D.T @ self.D, *LAMBDAS[2:])

    def codes(self, **options: Any) -> PairCodes:
        source = Ridge(self.B.T @ self.B, *LAMBDAS[:2])
        return PairCodes(
            self.S @ self.B, source, self.target, self.W, self.b, loss=self.loss, **options
        )

    def pair(self, j: int, i: int) -> Pair:
        y, omega = int(self.Y[j, i]), float(self.omega[j, i])
        data = self.S[i], self.X[j], self.B, self.D, self.W
        return Pair(*data, self.b, LAMBDAS, y, omega, self.loss)

    def solved(self, **options: Any) -> tuple[PairBlock, np.ndarray]:
        """The block and its target codes."""
        codes, XD = self.codes(**options), self.X @ self.D
        block = codes.solve(XD, self.Y * self.omega, codes=True)
        return block, codes.target_codes(self.target.codes(XD), block)


def reported(problem: Problem, block: PairBlock, j: int, i: int) -> float:
    """The value of a pair from the numbers of its block, with the constants put back."""
    x_s, x_t = problem.S[i], problem.X[j]
    l1, l2 = LAMBDAS[2:]
    ridge = l1 * np.eye(5) + l2 * problem.D.T @ problem.D
    own = np.linalg.solve(ridge, l2 * problem.D.T @ x_t)
    fit = 0.5 * l1 * own @ own + 0.5 * l2 * np.sum((x_t - problem.D @ own) ** 2)
    slack = max(0.0, 1 - problem.Y[j, i] * block.scores[j, i])
    power = 2 if problem.loss == "squared_hinge" else 1
    loss = abs(problem.Y[j, i]) * problem.omega[j, i] * slack**power
    return block.source[j, i] + 0.5 * LAMBDAS[1] * x_s @ x_s + block.target[j, i] + fit + loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_values_belong_to_the_codes_and_codes_to_their_set(loss: str, size: float) -> None:
    problem = Problem(0, loss, size)
    block, Zt = problem.solved()
    assert block.Zs is not None
    np.testing.assert_allclose(block.Zs.sum(axis=2), 1)
    assert block.Zs.min() >= 0
    for j, i in np.ndindex(4, 3):
        value = problem.pair(j, i).value(block.Zs[j, i], Zt[j, i])
        assert reported(problem, block, j, i) == pytest.approx(value, rel=1e-9)
        score = block.Zs[j, i] @ problem.W @ Zt[j, i] + problem.b
        assert block.scores[j, i] == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_simplex_codes_equal_a_general_solver_where_w_is_weak(loss: str) -> None:
    problem = Problem(2, loss, 0.3)
    block, Zt = problem.solved()
    assert block.Zs is not None
    for j, i in np.ndindex(2, 3):
        pair = problem.pair(j, i)
        best = minimum(pair, "simplex", 2, seed=3)
        assert pair.value(block.Zs[j, i], Zt[j, i]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [0.5, 4.0])
def test_neither_code_alone_can_be_better(loss: str, size: float) -> None:
    """Each half of Algorithm 1 and 3, a QP with one hinge, finds nothing to improve."""
    problem = Problem(3, loss, size)
    block, Zt = problem.solved()
    assert block.Zs is not None
    l1s, l2s, l1t, l2t = LAMBDAS
    Hs = l1s * np.eye(4) + l2s * problem.B.T @ problem.B
    Ht = l1t * np.eye(5) + l2t * problem.D.T @ problem.D
    for j, i in np.ndindex(4, 3):
        y, omega = float(problem.Y[j, i]), float(problem.omega[j, i]) * abs(problem.Y[j, i])
        pair, z_s, z_t = problem.pair(j, i), block.Zs[j, i], Zt[j, i]
        value = pair.value(z_s, z_t)
        halves: list[tuple[Any, ...]] = [
            (Hs, l2s * problem.B.T @ problem.S[i], problem.W @ z_t, "simplex"),
            (Ht, l2t * problem.D.T @ problem.X[j], problem.W.T @ z_s, "free"),
        ]
        found = [
            qp.solve(H, r, f[None], np.array([omega]), np.array([y]), problem.b, loss, of)
            for H, r, f, of in halves
        ]
        assert value <= pair.value(found[0], z_t) + 1e-6
        assert value <= pair.value(z_s, found[1]) + 1e-6


def test_equals_the_general_model_where_w_is_weak() -> None:
    """F of Eq. (gen_sim), which the general model finds by plain alternation."""
    problem = Problem(4, "squared_hinge", 0.3)
    problem.Y[:], problem.omega[:] = 1, 1.0
    block, _ = problem.solved()
    source = Dictionary(problem.B, *LAMBDAS[:2], "simplex")
    target = Dictionary(problem.D, *LAMBDAS[2:])
    similarity = Hinge(problem.W, problem.b, "squared_hinge")
    expected = maximise(source, target, similarity, problem.S, problem.X).value
    for j, i in np.ndindex(4, 3):
        assert -reported(problem, block, j, i) == pytest.approx(expected[j, i], abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_pairs_without_a_label_or_a_loss_stay_with_their_data(loss: str) -> None:
    problem = Problem(5, loss, 1.0)
    problem.Y[0], problem.omega[1] = 0, 0.0
    block, Zt = problem.solved()
    codes = problem.codes()
    assert block.Zs is not None
    np.testing.assert_allclose(block.Zs[:2], np.stack([codes.own, codes.own]), atol=1e-8)
    np.testing.assert_allclose(Zt[:2, 0], problem.target.codes(problem.X @ problem.D)[:2])
    assert not block.beta[:2].any()


@pytest.mark.parametrize("loss", LOSSES)
def test_without_a_similarity_nothing_moves(loss: str) -> None:
    problem = Problem(6, loss, 0.0)
    block, Zt = problem.solved()
    codes = problem.codes()
    assert block.Zs is not None
    np.testing.assert_allclose(block.Zs, np.broadcast_to(codes.own, block.Zs.shape), atol=1e-8)
    np.testing.assert_allclose(
        Zt, np.repeat(problem.target.codes(problem.X @ problem.D)[:, None], 3, 1)
    )
    np.testing.assert_allclose(block.scores, problem.b)


def test_a_better_start_is_taken() -> None:
    problem = Problem(8, "squared_hinge", 4.0)
    alone, _ = problem.solved()
    others = np.eye(4)[[0, 1, 2]]
    more, Zt_more = problem.solved(starts=(others,))
    assert alone.Zs is not None
    assert more.Zs is not None
    codes = problem.codes()
    for j, i in np.ndindex(4, 3):
        pair = problem.pair(j, i)
        value = pair.value(more.Zs[j, i], Zt_more[j, i])
        row = problem.target.codes(problem.X @ problem.D)[j]
        assert value <= min(pair.value(z, row) for z in (codes.own[i], others[i])) + 1e-9


def test_rows_do_not_know_each_other() -> None:
    problem = Problem(9, "squared_hinge", 2.0)
    whole, _ = problem.solved()
    codes = problem.codes()
    for j in range(4):
        rows = slice(j, j + 1)
        V = problem.Y[rows] * problem.omega[rows]
        one = codes.solve(problem.X[rows] @ problem.D, V)
        assert one.Zs is None
        np.testing.assert_allclose(one.scores, whole.scores[rows])
        np.testing.assert_allclose(one.source, whole.source[rows])


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(InputError, match="loss must be one of"):
        Problem(10, "logistic", 1.0).codes()
    problem = Problem(10, "hinge", 1.0)
    singular = Ridge(np.zeros((5, 5)), 0.0, 1.0)
    with pytest.raises(ValueError, match="λ1t > 0"):
        PairCodes(problem.S @ problem.B, Ridge(np.eye(4), 1.0, 1.0), singular, problem.W)
