"""FeatureVAE against integrals over its codes, Gaussians of SciPy, and a world that is known."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LogisticRegression

import unseen
from unseen import ClassTable, InputError, make_zero_shot
from unseen.errors import MissingExtraError
from unseen.estimators import FeatureVAE
from unseen.estimators.feature_vae import discriminant, hidden
from unseen.rows import ClassScaler, RowScaler
from unseen.support.work import listening
from unseen.training.autoencoder import Sizes, divergence, objective, start

torch: Any = importlib.import_module("torch") if find_spec("torch") else None

needs_torch = pytest.mark.skipif(torch is None, reason="no torch: pip install 'unseen[deep]'")


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(n_seen=30, rows_per_class=20, dtype=np.float32)


@pytest.fixture(scope="module")
def fitted(data: Any) -> Any:
    pytest.importorskip("torch", reason="no torch: pip install 'unseen[deep]'")
    return FeatureVAE(max_iter=10).fit(*data.training_set(), classes=data.classes)


# -- the objective --------------------------------------------------------------------------------


def some_layers(width: int, n_descriptors: int, n_codes: int, seed: int = 0) -> list[np.ndarray]:
    """Layers in which nothing is zero."""
    rng = np.random.default_rng(seed)
    first = [*start(width, n_descriptors, Sizes(n_codes, 5), rng), np.zeros(width)]
    return [layer + 0.3 * rng.standard_normal(layer.shape) for layer in first]


def value_of(
    layers: list[np.ndarray], X: np.ndarray, S: np.ndarray, noise: np.ndarray, penalty: float
) -> tuple[Any, list[Any]]:
    """The objective and the tensors that it knows its gradient for."""
    tensors = [torch.from_numpy(layer.copy()).requires_grad_() for layer in layers]
    x, s, e = (torch.from_numpy(a) for a in (X, S, noise))
    return objective(torch, tensors, x, s, e, penalty), tensors


def encoded(layers: list[np.ndarray], x: np.ndarray, s: np.ndarray) -> tuple[Any, Any]:
    """Mean and variance of q(z | x, s)."""
    E1, e1, E2, e2 = layers[:4]
    found = np.maximum(0, np.concatenate([x, s]) @ E1 + e1) @ E2 + e2
    return np.split(found, 2)[0], np.exp(np.split(found, 2)[1])


def decoded(layers: list[np.ndarray], z: np.ndarray, s: np.ndarray) -> np.ndarray:
    D1, d1, D2, d2 = layers[4:8]
    return np.maximum(0, np.concatenate([z, s]) @ D1 + d1) @ D2 + d2


def written_out(layers: list[np.ndarray], X: Any, S: Any, noise: Any) -> float:
    """The objective with λ = 0.1, row by row, by the densities of SciPy."""
    width, n_codes = X.shape[1], noise.shape[1]
    sigma = np.sqrt(np.exp(layers[8]) / width)
    total = 0.0
    for x, s, e in zip(X, S, noise, strict=True):
        mean, variance = encoded(layers, x, s)
        z = mean + np.sqrt(variance) * e
        total -= norm.logpdf(x, decoded(layers, z, s), sigma).sum()
        total += 0.5 * np.sum(mean**2 + variance - 1 - np.log(variance))
    constant = 0.5 * np.log(2 * np.pi / width)
    weights = np.sum(layers[4][n_codes:] ** 2) + np.sum(layers[6] ** 2)
    return total / X.size - constant + 0.1 / 2 * weights


@needs_torch
def test_objective_and_gradient_equal_the_formula() -> None:
    rng = np.random.default_rng(1)
    layers = some_layers(4, 3, 2)
    X, S, noise = (rng.standard_normal((6, width)) for width in (4, 3, 2))
    value, tensors = value_of(layers, X, S, noise, 0.1)
    assert float(value.detach()) == pytest.approx(written_out(layers, X, S, noise))
    value.backward()
    for k, tensor in enumerate(tensors):

        def moved(flat: np.ndarray, k: int = k) -> float:
            other = [flat.reshape(a.shape) if n == k else a for n, a in enumerate(layers)]
            return written_out(other, X, S, noise)

        slope: Any = approx_fprime(layers[k].ravel(), moved, 1e-7)
        np.testing.assert_allclose(tensor.grad.numpy().ravel(), slope, atol=1e-5)


@needs_torch
def test_divergence_is_what_an_average_over_codes_says() -> None:
    rng = np.random.default_rng(2)
    mean, variance = np.array([0.7, -1.2, 0.0]), np.array([0.3, 2.0, 1.0])
    z = mean + np.sqrt(variance) * rng.standard_normal((400_000, 3))
    inside, outside = norm.logpdf(z, mean, np.sqrt(variance)), norm.logpdf(z)
    parts = (torch.from_numpy(a[None, :]) for a in (mean, np.log(variance)))
    found = float(divergence(torch, *parts)[0])
    assert found == pytest.approx(np.mean((inside - outside).sum(axis=1)), rel=0.01)


@needs_torch
def test_the_bound_is_below_the_likelihood_integrated_over_codes() -> None:
    """With one code log p(x | s) is an integral over a line; the bound must not exceed it."""
    rng = np.random.default_rng(3)
    grid = np.linspace(-9, 9, 4001)
    for seed in range(4):
        layers = some_layers(3, 2, 1, seed)
        x, s = rng.standard_normal(3), rng.standard_normal(2)
        sigma = np.sqrt(np.exp(layers[8]) / 3)
        rows = np.array([decoded(layers, np.array([z]), s) for z in grid])
        density = np.exp(norm.logpdf(x, rows, sigma).sum(axis=1) + norm.logpdf(grid))
        exact = np.log(trapezoid(density, grid))
        noise = rng.standard_normal((20_000, 1))
        many = np.tile(x, (20_000, 1)), np.tile(s, (20_000, 1)), noise, 0.0
        bound = -3 * (float(value_of(layers, *many)[0].detach()) + 0.5 * np.log(2 * np.pi / 3))
        mean, variance = encoded(layers, x, s)
        posterior = density / np.exp(exact)
        q = norm.pdf(grid, mean[0], np.sqrt(variance[0]))
        apart = np.where(q > 1e-30, q * np.log(np.maximum(q, 1e-300) / posterior), 0.0)
        # What is missing is the divergence of q from the posterior.
        assert bound == pytest.approx(exact - trapezoid(apart, grid), rel=0.03, abs=0.02)
        assert bound < exact


# -- the classifier -------------------------------------------------------------------------------


def test_the_discriminant_whitens_and_orders() -> None:
    rng = np.random.default_rng(4)
    root, means = rng.standard_normal((7, 7)), rng.standard_normal((5, 7))
    scatter = root @ root.T
    A, background = discriminant(scatter, means, 0.25)
    sigma = 0.75 * scatter + 0.25 * np.trace(scatter) / 7 * np.eye(7)
    np.testing.assert_allclose(A.T @ sigma @ A, np.eye(7), atol=1e-10)
    whole = sigma + np.cov(means.T, bias=True)
    np.testing.assert_allclose(A.T @ whole @ A, np.diag(background), atol=1e-10)


def test_scores_are_a_likelihood_ratio_of_two_gaussians(data: Any, fitted: Any) -> None:
    X = data.unseen_set()[0].astype(np.float64)
    S = fitted.class_scaling_(data.classes.vectors)
    D1, d1, D2, d2 = (layer.astype(np.float64) for layer in fitted.decoder_)

    def rows(s: np.ndarray) -> np.ndarray:
        given = np.hstack([fitted.codes_, np.tile(s, (len(fitted.codes_), 1))])
        return np.maximum(0, given @ D1 + d1) @ D2 + d2

    seen = S[data.classes.rows(fitted.seen_classes_)]
    scatter = np.mean([np.cov(rows(s).T, bias=True) for s in seen], axis=0)
    scatter += np.diag(fitted.noise_)
    width = len(scatter)
    sigma = 0.5 * scatter + 0.5 * np.trace(scatter) / width * np.eye(width)
    means = fitted.means_
    whole = multivariate_normal(means.mean(axis=0), sigma + np.cov(means.T, bias=True))
    Z = fitted.transform(X)
    for name in fitted.unseen_classes_[:2]:
        own = multivariate_normal(rows(S[data.classes.rows([name])[0]]).mean(axis=0), sigma)
        expected = own.logpdf(Z) - whole.logpdf(Z)
        np.testing.assert_allclose(fitted.similarities(X, [name])[:, 0], expected, rtol=1e-4)
    name = fitted.seen_classes_[3]
    expected = multivariate_normal(means[3], sigma).logpdf(Z) - whole.logpdf(Z)
    np.testing.assert_allclose(fitted.similarities(X, [name])[:, 0], expected, rtol=1e-4)
    own = fitted.transform(data.training_set()[0][data.training_set()[1] == name])
    np.testing.assert_allclose(means[3], own.mean(axis=0), atol=1e-5)


def test_a_class_is_scored_by_itself(fitted: Any, data: Any) -> None:
    X = data.unseen_set()[0]
    together = fitted.similarities(X, "all")
    names = np.sort(data.classes.names)
    for k in (0, 7, names.size - 1):
        alone = fitted.similarities(X, [names[k]])[:, 0]
        np.testing.assert_allclose(alone, together[:, k], rtol=1e-3, atol=1e-3)


# -- rows that are drawn --------------------------------------------------------------------------


@needs_torch
def test_rows_drawn_in_a_linear_world_have_its_means_and_scatter() -> None:
    """x = s G + t L + noise: for new classes too, draws come near s G and L'L + noise² I."""
    rng = np.random.default_rng(5)
    G, L = rng.standard_normal((4, 6)), np.diag([1.2, 0.8, 0, 0, 0, 0])[:2]
    S = rng.standard_normal((60, 4))
    table = ClassTable([f"c{k:02}" for k in range(60)], S)
    y = np.repeat(np.arange(50), 60)
    X = S[y] @ G + rng.standard_normal((y.size, 2)) @ L + 0.3 * rng.standard_normal((y.size, 6))
    model = FeatureVAE(
        n_codes=2,
        penalty=1e-5,
        row_scaler=RowScaler(unit_length=False, center=False),
        class_scaler=ClassScaler(unit_length=False),
    ).fit(X, table.names[y], classes=table)
    drawn = model.draw(n_rows=4000)
    to_rows = np.linalg.inv(model.components_)
    rows = (drawn.rows + model.center_) @ to_rows
    assert model.history_[-1] < model.history_[0]
    truth, scatter = L.T @ L + 0.09 * np.eye(6), np.zeros((6, 6))
    for k in range(50, 60):
        own = rows[drawn.names == f"c{k:02}"]
        away = np.linalg.norm(own.mean(axis=0) - S[k] @ G) / np.linalg.norm(S[k] @ G)
        assert away < 0.25
        scatter += np.cov(own.T) / 10
    assert np.abs(scatter - truth).max() < 0.25 * truth.max()
    assert model.score(S[50:] @ G, table.names[50:]) == 1.0


def test_draws_have_the_mean_that_scores_use_and_the_noise(fitted: Any) -> None:
    drawn = fitted.draw(n_rows=3000)
    for name, mean in zip(fitted.classes_, fitted.transform_classes(), strict=True):
        own = drawn.rows[drawn.names == name]
        assert np.abs(own.mean(axis=0) - mean).max() < 0.3 * own.std(axis=0).max()
        assert (own.var(axis=0) > 0.8 * fitted.noise_).all()


def test_another_classifier_can_learn_from_draws(data: Any, fitted: Any) -> None:
    rows, names = fitted.draw(n_rows=50)
    X, y = data.unseen_set()
    found = LogisticRegression(max_iter=500).fit(rows, names).predict(fitted.transform(X))
    assert np.mean(found == y) > 0.6


def test_the_seed_decides_what_is_drawn(fitted: Any) -> None:
    one, again, other = (fitted.draw(n_rows=4, random_state=k).rows for k in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)
    some = fitted.draw(fitted.seen_classes_[:2], n_rows=3)
    assert some.names.tolist() == np.repeat(fitted.seen_classes_[:2], 3).tolist()
    new = {"new": fitted.class_table_.vectors[0]}
    assert fitted.draw(new, n_rows=2).names.tolist() == ["new", "new"]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "many"])
def test_refuses_to_draw_a_senseless_number_of_rows(fitted: Any, bad: Any) -> None:
    with pytest.raises(InputError, match="n_rows must be"):
        fitted.draw(n_rows=bad)


def test_hidden_units_worked_by_hand() -> None:
    """z = ±1, s = 2: 3z + s - 1 is 4 and -2, cut to 0."""
    decoder = [np.array([[3.0], [1.0]]), np.array([-1.0])]
    assert hidden(np.array([2.0]), np.array([[1.0], [-1.0]]), decoder).tolist() == [[4.0], [0.0]]


# -- the estimator --------------------------------------------------------------------------------


def test_recognises_unseen_classes(data: Any, fitted: Any) -> None:
    assert fitted.score(*data.unseen_set()) > 0.8
    assert fitted.similarities(data.unseen_set()[0]).dtype == np.float32
    assert (fitted.history_[-3:] < fitted.history_[0]).all()
    assert fitted.n_iter_ == fitted.history_.size == 10


def test_the_seed_decides(data: Any, fitted: Any) -> None:
    again, other = (
        FeatureVAE(max_iter=10, random_state=seed).fit(*data.training_set(), classes=data.classes)
        for seed in (0, 1)
    )
    np.testing.assert_array_equal(again.decoder_[2], fitted.decoder_[2])
    assert not np.allclose(other.decoder_[2], fitted.decoder_[2])


@needs_torch
def test_each_pass_is_told(data: Any) -> None:
    steps: list[str] = []
    with listening(steps.append):
        FeatureVAE(max_iter=2).fit(*data.training_set(), classes=data.classes)
    assert steps == ["pass 1 of 2", "pass 2 of 2"]


@needs_torch
@pytest.mark.parametrize("rows_per_class", [1, 2])
def test_a_row_or_two_of_each_class_will_do(rows_per_class: int) -> None:
    data = make_zero_shot(n_seen=12, rows_per_class=rows_per_class)
    model = FeatureVAE(max_iter=5).fit(*data.training_set(), classes=data.classes)
    assert np.isfinite(model.similarities(data.unseen_set()[0], "all")).all()


def test_a_saved_model_predicts_and_draws_without_torch(
    data: Any, fitted: Any, tmp_path: Any
) -> None:
    fitted.save(tmp_path / "vae.unseen")
    np.save(tmp_path / "X.npy", data.unseen_set()[0])
    code = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, *_):\n"
        "        assert name.partition('.')[0] != 'torch'\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import numpy, unseen\n"
        f"model = unseen.load({str(tmp_path / 'vae.unseen')!r})\n"
        f"print(*model.predict(numpy.load({str(tmp_path / 'X.npy')!r}))[:3], sep='|')\n"
        "print(model.draw(n_rows=1).rows[0, 0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, first = done.stdout.strip().split("\n")
    assert names.split("|") == fitted.predict(data.unseen_set()[0])[:3].tolist()
    assert float(first) == pytest.approx(fitted.draw(n_rows=1).rows[0, 0])
    assert isinstance(unseen.load(tmp_path / "vae.unseen"), FeatureVAE)


def test_without_torch_it_names_the_extra(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch.*unseen\[deep\]"):
        FeatureVAE().fit(*data.training_set(), classes=data.classes)


@needs_torch
def test_steps_that_are_far_too_large_are_named(data: Any) -> None:
    with pytest.raises(InputError, match=r"in pass \d+: take a smaller learning_rate than 1e\+30"):
        FeatureVAE(learning_rate=1e30).fit(*data.training_set(), classes=data.classes)


NAMES = ["n_components", "n_codes", "n_hidden", "penalty", "shrinkage", "n_draws", "max_iter"]


@pytest.mark.parametrize("bad", [-1, float("nan"), "abc", None, True])
@pytest.mark.parametrize("name", [*NAMES, "learning_rate", "batch_size"])
def test_refuses_senseless_parameters(name: str, bad: object, data: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        FeatureVAE().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
