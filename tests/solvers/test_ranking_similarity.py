from typing import Any

import numpy as np
import pytest

from tests.oracles.pairs import explicit_pairs, hinge_qp
from unseen.solvers.ranking_similarity import (
    fit_ranking_similarity,
    pair_loss,
    ranking_loss,
    row_ranking,
)


def brute_force(scores, labels):
    total = 0.0
    for i in range(scores.shape[1]):
        own = [s for s, c in zip(scores[:, i], labels, strict=True) if c == i]
        others = [s for s, c in zip(scores[:, i], labels, strict=True) if c != i]
        if own and others:
            slack = [max(0.0, 1 - (p - q)) ** 2 for p in own for q in others]
            total += sum(slack) / len(slack) / scores.shape[1]
    return total


@pytest.mark.parametrize("seed", range(10))
def test_loss_matches_all_pairs_of_rows_and_its_gradient_differences(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 20) % (1 + seed % 4)
    scores = np.round(rng.standard_normal((20, 4)), 1 + seed % 2)
    value, gradient = ranking_loss(scores, labels)
    assert value == pytest.approx(brute_force(scores, labels))
    direction = rng.standard_normal(scores.shape)
    ends = [brute_force(scores + t * direction, labels) for t in (1e-6, -1e-6)]
    assert np.sum(gradient * direction) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)
    scale = rng.random(20)
    ends = [pair_loss(scores + t * direction, labels, 3.0, 1.0, scale)[0] for t in (1e-6, -1e-6)]
    slope = np.sum(pair_loss(scores, labels, 3.0, 1.0, scale)[1] * direction)
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_a_class_without_rows_or_without_others_costs_nothing():
    value, up, down = row_ranking([], [1.0, 2.0])
    assert value == 0
    assert up.size == 0
    assert not down.any()


@pytest.mark.parametrize("gamma", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kappa", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_minimum_matches_a_general_qp_solver(seed, kappa, gamma):
    """All pairs, and all pairs of rows, written out as features of one squared-hinge problem."""
    rng = np.random.default_rng(seed)
    Zs, Zt = rng.standard_normal((3, 2)), rng.standard_normal((9, 3))
    labels, scale, lam = rng.integers(0, 3, 9), rng.random(9), 0.03
    w_pos, w_neg = 0.06, 0.03
    products = np.einsum("ia,jb->ijab", Zs, Zt).reshape(3, 9, -1)
    products = np.concatenate([products, np.full((3, 9, 1), kappa)], axis=2)
    Y, omega = explicit_pairs(labels, 3, w_pos, w_neg, scale)
    F, signs, weights = [products.reshape(27, -1)], [Y.ravel()], [(1 - gamma) * omega.ravel()]
    for i in range(3):
        own, other = np.flatnonzero(labels == i), np.flatnonzero(labels != i)
        for j in own:
            for k in other:
                F.append((products[i, j] - products[i, k])[None])
                signs.append(np.ones(1))
                weights.append(np.array([gamma / 3 / own.size / other.size]))
    F, signs, weights = (np.concatenate(part) for part in (F, signs, weights))
    H = lam * np.eye(F.shape[1])
    expected = hinge_qp(H, np.zeros(len(H)), F, signs, weights, 0.0, "squared_hinge")
    options: dict[str, Any] = dict(gamma=gamma, lam=lam, w_pos=w_pos, w_neg=w_neg, row_scale=scale)
    found = fit_ranking_similarity(Zs, Zt, labels, bias_scale=kappa, tol=1e-8, **options)
    assert found.objective == pytest.approx(expected, rel=1e-5)
    again = fit_ranking_similarity(
        Zs, Zt, labels, bias_scale=kappa, tol=1e-8, start=found.value, **options
    )
    assert again.n_iter <= 2
    assert again.objective <= found.objective * (1 + 1e-9)
