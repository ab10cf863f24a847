"""The general model against hand-worked cases, a general solver and plain enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from unseen import InputError
from unseen.model.joint import (
    Bilinear,
    DictionaryTerm,
    Joint,
    PointMass,
    PointMasses,
    Similarity,
    Term,
    in_blocks,
)
from unseen.pairs.loss import pair_loss

SETS = ("free", "affine", "simplex")


def same(x: np.ndarray) -> np.ndarray:
    return x


@pytest.mark.parametrize(
    ("loss", "link", "fit", "value", "code"),
    [
        # z climbs -z²/2 - [1 - z]_+ up to the knee.
        ("hinge", "saturating", 1.0, -0.5, 1.0),
        # -z² - (1 - z) is highest at 1/2, before the knee.
        ("hinge", "saturating", 2.0, -0.75, 0.5),
        ("squared_hinge", "saturating", 2.0, -0.5, 0.5),
        # -z² + z, and -z² + 2 z.
        ("hinge", "margin", 2.0, 0.25, 0.5),
        ("squared_hinge", "margin", 2.0, 1.0, 1.0),
    ],
)
def test_one_code_worked_by_hand(
    loss: str, link: str, fit: float, value: float, code: float
) -> None:
    """z_s = 1 without a choice; log p_D = -λ2/2 z² as x_t = 0 and the atom is 1; s = z_t."""
    joint = Joint(
        PointMass(same),
        DictionaryTerm(np.ones((1, 1)), 0.0, fit),
        Bilinear(np.ones((1, 1)), loss=loss, link=link),
    )
    found = joint.maximise(np.ones((1, 1)), np.zeros((1, 1)))
    assert found.value == pytest.approx(np.array([[value]]))
    assert found.target == pytest.approx(np.array([[[code]]]))


def test_the_similarity_that_is_satisfied_already_moves_nothing() -> None:
    joint = Joint(
        PointMass(same),
        DictionaryTerm(np.ones((1, 1)), 1.0, 1.0),
        Bilinear(np.ones((1, 1)), link="saturating"),
    )
    # z = x/2 = 3/2 gives s > 1, so log p_W is 0: F = -1/2 (3/2)² - 1/2 (3/2)².
    assert joint.scores(np.ones((1, 1)), np.full((1, 1), 3.0)) == pytest.approx(-2.25)


def dictionaries(seed: int, code_set: str) -> tuple[DictionaryTerm, DictionaryTerm, Any]:
    rng = np.random.default_rng(seed)
    B, D, W = (rng.standard_normal(s) for s in ((5, 3), (6, 4), (3, 4)))
    source, target = DictionaryTerm(B, 1.0, 2.0, code_set), DictionaryTerm(D, 1.5, 1.0)
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
    found = Joint(source, target, Bilinear(W, 0.1, loss=loss, link="saturating")).maximise(S, X)
    power, short = (2, 1e-6) if loss == "squared_hinge" else (1, 1e-4)
    for i, j in np.ndindex(found.value.shape):

        def minus(v: np.ndarray, i: int = i, j: int = j) -> float:
            own = source.log_p(S[j], v[:3], 0) + target.log_p(X[i], v[3:7], 0)
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
    similarity = Bilinear(4 * W, loss="squared_hinge", link="saturating")
    found = Joint(source, target, similarity).maximise(S, X)

    def value(z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        own = source.log_p(S[None], z_s, 0) + target.log_p(X[:, None], z_t, 0)
        scores = np.einsum("nch,hk,nck->nc", z_s, similarity.W, z_t)
        return own - pair_loss(scores, "squared_hinge")

    np.testing.assert_allclose(found.value, value(found.source, found.target))
    start = Joint(
        PointMass(lambda s: source.best(s, None, 0)),
        PointMass(lambda x: target.best(x, None, 0)),
        similarity,
    ).maximise(S, X)
    assert (found.value >= value(start.source, start.target) - 1e-12).all()
    rng = np.random.default_rng(0)
    for _ in range(50):
        aside = found.target + 1e-3 * rng.standard_normal(found.target.shape)
        assert (value(found.source, aside) <= found.value + 1e-12).all()


def test_simplex_codes_stay_on_the_simplex() -> None:
    source, target, (S, X, W) = dictionaries(1, "simplex")
    found = Joint(source, target, Bilinear(9 * W, link="saturating")).maximise(S, X)
    assert (found.source >= 0).all()
    np.testing.assert_allclose(found.source.sum(axis=-1), 1)


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
    np.testing.assert_array_equal(joint.scores(S, X).argmax(axis=1), np.argmax(slow, axis=1))


def test_a_point_mass_is_nowhere_else() -> None:
    term = PointMass(lambda x: 2 * x)
    x = np.array([[1.0, 2.0]])
    assert term.log_p(x, np.array([[2.0, 4.0]]), 0).tolist() == [0.0]
    assert term.log_p(x, np.array([[2.0, 4.1]]), 0).tolist() == [-np.inf]


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
    source, target, (S, X, W) = dictionaries(2, "affine")
    joint = Joint(source, target, Bilinear(W, link="saturating"))
    whole = joint.scores(S, X)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (1,))
    np.testing.assert_allclose(joint.scores(S, X), whole, atol=1e-9)


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
    with pytest.raises(TypeError, match="Near works with fixed codes only"):
        Joint(PointMass(same), DictionaryTerm(np.eye(2), 1.0, 1.0), Near()).scores(S, X)


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
    with pytest.raises(InputError, match="code_set must be one of"):
        DictionaryTerm(one, 1.0, 1.0, "ball")
    with pytest.raises(InputError, match="fit > 0"):
        DictionaryTerm(one, 1.0, 0.0)
    for method in ("best", "log_p"):
        with pytest.raises(TypeError, match=f"Term must define {method}"):
            getattr(Term(), method)(one, one, 0)
