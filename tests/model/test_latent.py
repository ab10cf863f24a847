"""A latent model and its spaces: what it says of rows and classes, against plain formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.common.latent import latent_model
from unseen import InputError
from unseen.model.latent import Spaces
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import ClassScaler, ClassScaling, RowScaler, RowScaling

PLAIN = Spaces(RowScaling(False, None), ClassScaling(False, None))


def draw(*shape: int, seed: int = 1, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_rows_are_projected_after_scaling_with_their_constant_feature() -> None:
    X = draw(7, 8)
    scaling = RowScaler(True, True).learn(X, True, 0.4)
    model = latent_model(spaces=Spaces(scaling, ClassScaling(False, None)))
    rows = (X / np.linalg.norm(X, axis=1, keepdims=True) - scaling.mean) / scaling.scale
    rows = np.hstack([rows, np.full((7, 1), scaling.constant)])
    np.testing.assert_allclose(model.project(X), rows @ model.D)
    np.testing.assert_allclose(model.spaces.features(X), rows)


def test_a_kernel_comes_after_scaling() -> None:
    S, X = draw(6, 8), draw(9, 9, seed=2)
    descriptions = ClassScaler().learn(S)
    kernel, row_kernel = KernelFeatures.fit(descriptions(S), 1.0), KernelFeatures.fit(X, 1.0)
    expected, rows = kernel(descriptions(S)), row_kernel(X)
    spaces = Spaces(PLAIN.rows, descriptions, row_kernel, kernel)
    np.testing.assert_allclose(spaces.describe(S), expected, atol=1e-12)
    np.testing.assert_allclose(spaces.features(X), rows, atol=1e-12)
    assert spaces.check(9, 8) == (rows.shape[1], expected.shape[1])


def test_what_a_pull_asks_of_attributes_is_its_slope() -> None:
    S, descriptions = draw(6, 8), ClassScaling(False, None)
    kernel = KernelFeatures.fit(S, 1.0)
    pull = draw(kernel.shift.size, seed=3)
    spaces, s = Spaces(PLAIN.rows, descriptions, class_kernel=kernel), S[0] + 0.1
    slopes = [
        float((spaces.describe((s + e)[None]) - spaces.describe((s - e)[None]))[0] @ pull) / 2e-6
        for e in 1e-6 * np.eye(8)
    ]
    np.testing.assert_allclose(spaces.attributes(s, pull), slopes, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(PLAIN.attributes(s, pull), pull)


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_the_cost_of_a_class_is_in_units_of_the_weight_of_a_positive_pair(weight: float) -> None:
    model = latent_model(positive_weight=weight)
    S, Z = draw(3, 8), np.random.default_rng(2).dirichlet(np.ones(5), 3)
    own = 0.21 * np.sum(Z**2, axis=1) + 0.7 * np.sum((S - Z @ model.B.T) ** 2, axis=1)
    np.testing.assert_allclose(model.source_cost(S, Z), own / 2 / weight)
    np.testing.assert_allclose(model.source_cost(S, Z, fit=2.1), 3 * own / 2 / weight)


@pytest.mark.parametrize("shrink", [0.0, 0.42])
def test_codes_of_rows_are_ridge_regression_in_their_precision(shrink: float) -> None:
    model = latent_model(target_shrink=shrink)
    X = draw(5, 9)
    H = shrink * np.eye(4) + 1.4 * model.D.T @ model.D
    expected = np.linalg.solve(H, 1.4 * model.D.T @ X.T).T
    np.testing.assert_allclose(model.embed_rows(X @ model.D), expected, atol=1e-9)
    single = model.embed_rows((X @ model.D).astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-4)


def test_scores_have_rows_down_and_classes_across() -> None:
    model = latent_model()
    Zs, Zt = draw(2, 5), draw(3, 4)
    slow = [[float(zs @ model.W @ zt) + 0.2 for zs in Zs] for zt in Zt]
    np.testing.assert_allclose(model.scores(Zs, Zt), slow)


def test_ratios_of_lambdas() -> None:
    model = latent_model()
    assert model.source_shrinkage == pytest.approx(0.3)
    assert model.target_shrinkage == pytest.approx(0.3)


def test_a_model_is_not_changed_and_not_printed_in_full() -> None:
    model = latent_model()
    with pytest.raises(AttributeError):
        model.b = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    assert "array" not in repr(model)


def test_what_fits_together_is_let_through() -> None:
    latent_model().check(9, 8, 6)
    for dtype in (np.float32, np.float64):
        model = latent_model()
        arrays = {name: getattr(model, name).astype(dtype) for name in ("Zs", "Zt", "B", "D", "W")}
        replace(model, **arrays).check(9, 8, 6)
    wide = Spaces(RowScaling(False, None, constant=0.5), ClassScaling(False, None))
    latent_model(spaces=wide).check(8, 8, 6)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((10, 8, 6), r"its D has shape \(9, 4\), where \(10, 4\) is needed"),
        ((9, 7, 6), r"its B has shape \(8, 5\), where \(7, 5\) is needed"),
        ((9, 8, 5), r"its Zs has shape \(6, 5\), where \(5, 5\) is needed"),
    ],
)
def test_other_widths_are_named(numbers: tuple[int, int, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        latent_model().check(*numbers)


def test_a_mixture_of_precisions_is_refused() -> None:
    model = latent_model()
    assert model.Zt is not None
    with pytest.raises(InputError, match="its Zt is not a table of numbers like the others"):
        replace(model, Zt=model.Zt.astype(np.float32)).check(9, 8, 6)
