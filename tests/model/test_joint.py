"""The general model against plain enumeration; with codes that move, which the oracle of Algorithm
3 finds by turns, against a general solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.oracles.general import Dictionary, Hinge, maximise
from unseen import InputError
from unseen.model.joint import Bilinear, Joint, PointMass, PointMasses, Similarity, in_blocks
from unseen.pairs.loss import pair_loss

SETS = ("free", "affine", "simplex")


def same(x: np.ndarray) -> np.ndarray:
    return x


def test_mixtures_are_searched_through() -> None:
    """F is the best of 2 x 3 pairs of codes, each with the logarithms of its weights."""
    rng = np.random.default_rng(3)
    S, X, W = (rng.standard_normal(s) for s in ((4, 2), (5, 3), (2, 3)))
    source = PointMasses([lambda s: s, lambda s: -s], np.log([0.3, 0.7]).tolist())
    target = PointMasses([lambda x: x, lambda x: 2 * x, lambda x: x**2])
    slow = [
        [
            max(
                np.log(p) - np.log(3) + a * s @ W @ z
                for p, a in ((0.3, 1), (0.7, -1))
                for z in (x, 2 * x, x**2)
            )
            for s in S
        ]
        for x in X
    ]
    joint = Joint(source, target, Bilinear(W))
    np.testing.assert_allclose(joint.scores(S, X), slow)


def test_blocks_hold_the_embedding_in_one_place() -> None:
    x = np.array([[1.0, 2.0]])
    placed = [embedding(x).tolist() for embedding in in_blocks(same, 3)]
    assert placed == [[[1, 2, 0, 0, 0, 0]], [[0, 0, 1, 2, 0, 0]], [[0, 0, 0, 0, 1, 2]]]


def test_components_that_must_agree() -> None:
    W = np.array([[1.0, 5.0], [5.0, 2.0]])
    both = PointMasses(in_blocks(same, 2))
    one = np.ones((1, 1))
    assert Joint(both, both, Bilinear(W)).scores(one, one) == pytest.approx(5 - 2 * np.log(2))
    joint = Joint(both, both, Bilinear(W, same_component=True))
    assert joint.scores(one, one) == pytest.approx(2 - 2 * np.log(2))


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    S, X, W = (rng.standard_normal(s) for s in ((4, 2), (50, 3), (2, 3)))
    joint = Joint(PointMass(same), PointMass(same), Bilinear(W, 0.5))
    whole = joint.scores(S, X)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (1,))
    np.testing.assert_allclose(joint.scores(S, X), whole, atol=1e-12)


def test_a_similarity_of_ones_own_needs_one_method() -> None:
    class Near(Similarity):
        def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
            return -np.square(z_s - z_t).sum(axis=-1)

    rng = np.random.default_rng(4)
    S, X = rng.standard_normal((3, 2)), rng.standard_normal((4, 2))
    expected = [[-np.sum((x - s) ** 2) for s in S] for x in X]
    np.testing.assert_allclose(
        Joint(PointMass(same), PointMass(same), Near()).scores(S, X), expected
    )


def test_refusals_say_what_is_wrong() -> None:
    class Never(Bilinear):
        def allows(self, source: int, target: int) -> bool:
            return False

    one = np.ones((1, 1))
    with pytest.raises(InputError, match="allows no pair of components"):
        Joint(PointMass(same), PointMass(same), Never(one)).scores(one, one)
    with pytest.raises(InputError, match="at least one embedding"):
        PointMasses([])
    with pytest.raises(InputError, match="1 embeddings, but 2 logarithms"):
        PointMasses([same], [0.0, 0.0])
    with pytest.raises(TypeError, match="Similarity must define log_p"):
        Similarity().log_p(one, one)


def dictionaries(seed: int, code_set: str) -> tuple[Dictionary, Dictionary, Any]:
    rng = np.random.default_rng(seed)
    B, D, W = (rng.standard_normal(s) for s in ((5, 3), (6, 4), (3, 4)))
    source, target = Dictionary(B, 1.0, 2.0, code_set), Dictionary(D, 1.5, 1.0)
    return source, target, (rng.standard_normal((2, 5)), rng.standard_normal((3, 6)), 0.3 * W)


def limits(code_set: str, W: np.ndarray) -> dict[str, Any]:
    """Of (z_s, z_t, slack), with slack >= 1 - s, so that the problem is smooth."""
    bounds = [(0, None)] * 3 if code_set == "simplex" else [(None, None)] * 3
    held = [{"type": "ineq", "fun": lambda v: v[7] - 1 + v[:3] @ W @ v[3:7] + 0.1}]
    if code_set != "free":
        held.append({"type": "eq", "fun": lambda v: v[:3].sum() - 1})
    return {"bounds": [*bounds, *[(None, None)] * 4, (0, None)], "constraints": held}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("code_set", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_general_solver(seed: int, code_set: str, loss: str) -> None:
    """W is weak against the dictionaries, so there is one maximum.

    At the knee of the plain hinge neither code climbs alone, so F may stop just short of it.
    """
    source, target, (S, X, W) = dictionaries(seed, code_set)
    found = maximise(source, target, Hinge(W, 0.1, loss), S, X)
    power, short = (2, 1e-6) if loss == "squared_hinge" else (1, 1e-4)
    for i, j in np.ndindex(found.value.shape):

        def minus(v: np.ndarray, i: int = i, j: int = j) -> float:
            own = source.log_p(S[j], v[:3]) + target.log_p(X[i], v[3:7])
            return float(v[7] ** power - own)

        start = np.r_[np.full(3, 1 / 3), np.zeros(4), 2.0]
        best: Any = minimize(
            minus, start, method="SLSQP", options={"ftol": 1e-13}, **limits(code_set, W)
        )
        assert -best.fun - short < found.value[i, j] < -best.fun + 1e-6
        np.testing.assert_allclose(found.source[i, j], best.x[:3], atol=20 * np.sqrt(short))


@pytest.mark.parametrize("code_set", SETS)
def test_the_value_belongs_to_the_codes_and_no_step_aside_is_better(code_set: str) -> None:
    source, target, (S, X, W) = dictionaries(7, code_set)
    found = maximise(source, target, Hinge(4 * W, loss="squared_hinge"), S, X)

    def value(z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        own = source.log_p(S[None], z_s) + target.log_p(X[:, None], z_t)
        scores = np.einsum("nch,hk,nck->nc", z_s, 4 * W, z_t)
        return own - pair_loss(scores, "squared_hinge")

    np.testing.assert_allclose(found.value, value(found.source, found.target))
    rng = np.random.default_rng(0)
    for _ in range(50):
        aside = found.target + 1e-3 * rng.standard_normal(found.target.shape)
        assert (value(found.source, aside) <= found.value + 1e-12).all()
