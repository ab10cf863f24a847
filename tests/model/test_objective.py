"""J against the brute-force sum over all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import objective
from unseen.model.objective import Codes, Weights, joint_objective, pair_total
from unseen.pairs.weights import pair_weights, row_weights


def problem(loss: str, bias_scale: float, dtype: Any, seed: int = 0, uneven: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    C, N, d_s, d_t, h_s, h_t = 5, 13, 4, 6, 3, 4
    draw = lambda *shape: rng.standard_normal(shape).astype(dtype)  # noqa: E731
    S, X, labels = draw(C, d_s), draw(N, d_t) + dtype(1), rng.integers(0, C, N)
    codes = Codes(draw(C, h_s), draw(N, h_t), draw(d_s, h_s), draw(d_t, h_t), draw(h_s, h_t), 0.3)
    pairs = pair_weights(N, C, 3.0, row_weights(labels, 0.5) if uneven else None)
    weights = Weights(0.2, 0.7, 0.4, 1.3, 0.05, pairs, loss, bias_scale)
    return S, X, labels, codes, weights


def residual(X: np.ndarray, codes: Codes) -> float:
    """Σ_j |x_j - D z_j|²."""
    return float(np.sum((X.astype(float) - codes.Zt.astype(float) @ codes.D.T) ** 2))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias_scale", [0.0, 1.0, 2.5])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("uneven", [False, True])
def test_equals_the_double_loop(
    loss: str, bias_scale: float, dtype: Any, rtol: float, uneven: bool
) -> None:
    S, X, labels, codes, weights = problem(loss, bias_scale, dtype, uneven=uneven)
    found = joint_objective(S, residual(X, codes), labels, codes, weights)
    slow = objective(S, X, labels, codes, weights)
    np.testing.assert_allclose(found, slow, rtol=rtol)
    assert found.total == pytest.approx(sum(slow), rel=rtol)


def test_total_is_the_sum_of_the_parts() -> None:
    S, X, labels, codes, weights = problem("hinge", 1.0, np.float64)
    found = joint_objective(S, residual(X, codes), labels, codes, weights)
    assert found.total == pytest.approx(sum(found))
    assert all(part > 0 for part in found)


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    S, X, labels, codes, weights = problem("squared_hinge", 1.0, np.float64)
    square = residual(X, codes)
    whole = joint_objective(S, square, labels, codes, weights)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (100,))
    again = joint_objective(S, square, labels, codes, weights)
    np.testing.assert_allclose(again, whole, rtol=1e-12)


def test_pairs_part_is_zero_when_every_margin_is_kept() -> None:
    eye = np.eye(3)
    codes = Codes(eye, eye, eye, eye, 2 * eye - 1, 0.0)
    assert pair_total(codes, np.arange(3), pair_weights(3, 3, "uniform"), "hinge") == 0
    turned = pair_total(codes, np.array([1, 2, 0]), pair_weights(3, 3, "uniform"), "hinge")
    assert turned == pytest.approx((3 * 2 + 3 * 2) / 9)
