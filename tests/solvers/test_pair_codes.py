"""Codes of pairs against a general solver, against one-code QPs, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles import qp
from tests.oracles.pair_codes import Pair, minimum
from unseen.model.joint import Bilinear, DictionaryTerm, Joint
from unseen.solvers.pair_codes import PairBlock, PairCodes
from unseen.solvers.source_codes import SETS

LOSSES = ("hinge", "squared_hinge")
LAMBDAS = (0.5, 1.0, 0.4, 1.5)


class Problem:
    """Three classes and four rows; `size` of W decides whether codes hold together."""

    def __init__(self, seed: int, which: str, loss: str, size: float, b: float = 0.2) -> None:
        rng = np.random.default_rng(seed)
        shapes = ((5, 4), (6, 5), (4, 5), (3, 5), (4, 6))
        self.B, self.D, self.W, self.S, self.X = (rng.standard_normal(s) for s in shapes)
        self.W *= size
        self.b, self.which, self.loss = b, which, loss
        self.Y = rng.choice([-1, 1, 0], (4, 3), p=[0.45, 0.45, 0.1]).astype(np.int8)
        self.omega = rng.uniform(0.2, 2.0, (4, 3))

    def codes(self, **options: Any) -> PairCodes:
        B, D = self.B, self.D
        names = ("source_shrink", "source_fit", "target_shrink", "target_fit")
        return PairCodes(
            self.S @ B, B.T @ B, D.T @ D, self.W, self.b, which=self.which, loss=self.loss,
            **dict(zip(names, LAMBDAS, strict=True)), **options,
        )  # fmt: skip

    def pair(self, j: int, i: int) -> Pair:
        return Pair(
            self.S[i], self.X[j], self.B, self.D, self.W, self.b, LAMBDAS,
            int(self.Y[j, i]), float(self.omega[j, i]), self.loss,
        )  # fmt: skip

    def solved(self, **options: Any) -> tuple[PairBlock, np.ndarray]:
        """The block and its target codes."""
        codes, XD = self.codes(**options), self.X @ self.D
        block = codes.solve(XD, self.Y, self.omega, codes=True)
        return block, codes.target_codes(codes.row_codes(XD), block)


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
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_values_belong_to_the_codes_and_codes_to_their_set(
    which: str, loss: str, size: float
) -> None:
    problem = Problem(0, which, loss, size)
    block, Zt = problem.solved()
    assert block.Zs is not None
    if which != "free":
        np.testing.assert_allclose(block.Zs.sum(axis=2), 1)
    if which == "simplex":
        assert block.Zs.min() >= 0
    for j, i in np.ndindex(4, 3):
        value = problem.pair(j, i).value(block.Zs[j, i], Zt[j, i])
        assert reported(problem, block, j, i) == pytest.approx(value, rel=1e-9)
        score = block.Zs[j, i] @ problem.W @ Zt[j, i] + problem.b
        assert block.scores[j, i] == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", ["affine", "free"])
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_free_and_affine_codes_are_the_global_minimum(which: str, loss: str, size: float) -> None:
    """Not even where W is strong and there are several minima does a start find a better one."""
    problem = Problem(1, which, loss, size)
    block, Zt = problem.solved()
    assert block.Zs is not None
    for j, i in np.ndindex(2, 3):
        pair, codes = problem.pair(j, i), (block.Zs[j, i], Zt[j, i])
        best = minimum(pair, which, 3, seed=7, first=codes)
        assert pair.value(*codes) <= best + 1e-7


@pytest.mark.parametrize("loss", LOSSES)
def test_simplex_codes_equal_a_general_solver_where_w_is_weak(loss: str) -> None:
    problem = Problem(2, "simplex", loss, 0.3)
    block, Zt = problem.solved()
    assert block.Zs is not None
    for j, i in np.ndindex(2, 3):
        pair = problem.pair(j, i)
        best = minimum(pair, "simplex", 2, seed=3)
        assert pair.value(block.Zs[j, i], Zt[j, i]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("size", [0.5, 4.0])
def test_neither_code_alone_can_be_better(which: str, loss: str, size: float) -> None:
    """Each half of Algorithm 1 and 3, a QP with one hinge, finds nothing to improve."""
    problem = Problem(3, which, loss, size)
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
            (Hs, l2s * problem.B.T @ problem.S[i], problem.W @ z_t, which),
            (Ht, l2t * problem.D.T @ problem.X[j], problem.W.T @ z_s, "free"),
        ]
        found = [
            qp.solve(H, r, f[None], np.array([omega]), np.array([y]), problem.b, loss, of)
            for H, r, f, of in halves
        ]
        assert value <= pair.value(found[0], z_t) + 1e-6
        assert value <= pair.value(z_s, found[1]) + 1e-6


@pytest.mark.parametrize("which", SETS)
def test_equals_the_general_model_where_w_is_weak(which: str) -> None:
    """F of Eq. (gen_sim), which the general model finds by plain alternation."""
    problem = Problem(4, which, "squared_hinge", 0.3)
    problem.Y[:], problem.omega[:] = 1, 1.0
    block, _ = problem.solved()
    joint = Joint(
        DictionaryTerm(problem.B, *LAMBDAS[:2], which),
        DictionaryTerm(problem.D, *LAMBDAS[2:]),
        Bilinear(problem.W, problem.b, loss="squared_hinge", link="saturating"),
    )
    expected = joint.scores(problem.S, problem.X)
    for j, i in np.ndindex(4, 3):
        assert -reported(problem, block, j, i) == pytest.approx(expected[j, i], abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
def test_pairs_without_a_label_or_a_loss_stay_with_their_data(which: str, loss: str) -> None:
    problem = Problem(5, which, loss, 1.0)
    problem.Y[0], problem.omega[1] = 0, 0.0
    block, Zt = problem.solved()
    codes = problem.codes()
    assert block.Zs is not None
    np.testing.assert_allclose(block.Zs[:2], np.stack([codes.own, codes.own]), atol=1e-8)
    np.testing.assert_allclose(Zt[:2, 0], codes.row_codes(problem.X @ problem.D)[:2])
    assert not block.beta[:2].any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", SETS)
def test_without_a_similarity_nothing_moves(which: str, loss: str) -> None:
    problem = Problem(6, which, loss, 0.0)
    block, Zt = problem.solved()
    codes = problem.codes()
    assert block.Zs is not None
    np.testing.assert_allclose(block.Zs, np.broadcast_to(codes.own, block.Zs.shape), atol=1e-8)
    np.testing.assert_allclose(Zt, np.repeat(codes.row_codes(problem.X @ problem.D)[:, None], 3, 1))
    np.testing.assert_allclose(block.scores, problem.b)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_without_a_share_in_the_top_direction_leave_the_saddle(loss: str) -> None:
    """x_s = x_t = 0: codes of zero are a saddle, and the minimum lies to either side of it."""
    problem = Problem(7, "free", loss, 4.0, b=0.0)
    problem.S[:], problem.X[:], problem.Y[:], problem.omega[:] = 0, 0, 1, 2.0
    block, Zt = problem.solved()
    assert block.Zs is not None
    pair = problem.pair(0, 0)
    value = pair.value(block.Zs[0, 0], Zt[0, 0])
    assert value < 0.9 * pair.value(np.zeros(4), np.zeros(5))
    assert value <= minimum(pair, "free", 4, seed=1) + 1e-6
    assert reported(problem, block, 0, 0) == pytest.approx(value, rel=1e-6)


def test_a_better_start_is_taken() -> None:
    problem = Problem(8, "simplex", "squared_hinge", 4.0)
    alone, _ = problem.solved()
    others = np.eye(4)[[0, 1, 2]]
    more, Zt_more = problem.solved(starts=(others,))
    assert alone.Zs is not None
    assert more.Zs is not None
    codes = problem.codes()
    for j, i in np.ndindex(4, 3):
        pair = problem.pair(j, i)
        value = pair.value(more.Zs[j, i], Zt_more[j, i])
        row = codes.row_codes(problem.X @ problem.D)[j]
        assert value <= min(pair.value(z, row) for z in (codes.own[i], others[i])) + 1e-9


@pytest.mark.parametrize("which", SETS)
def test_rows_do_not_know_each_other(which: str) -> None:
    problem = Problem(9, which, "squared_hinge", 2.0)
    whole, _ = problem.solved()
    codes = problem.codes()
    for j in range(4):
        rows = slice(j, j + 1)
        one = codes.solve(problem.X[rows] @ problem.D, problem.Y[rows], problem.omega[rows])
        assert one.Zs is None
        np.testing.assert_allclose(one.scores, whole.scores[rows])
        np.testing.assert_allclose(one.source, whole.source[rows])


def test_refusals_say_what_is_wrong() -> None:
    problem = Problem(10, "free", "logistic", 1.0)
    with pytest.raises(ValueError, match="loss is one of"):
        problem.codes()
    problem.loss, problem.which = "hinge", "ball"
    with pytest.raises(ValueError, match="set of the source codes"):
        problem.codes()
    problem.which, problem.D = "free", np.zeros((6, 5))
    args = (problem.S @ problem.B, problem.B.T @ problem.B, problem.D.T @ problem.D, problem.W, 0.0)
    with pytest.raises(ValueError, match="l1t > 0"):
        PairCodes(
            *args, source_shrink=1.0, source_fit=1.0, target_shrink=0.0, target_fit=1.0,
            which="free",
        )  # fmt: skip
