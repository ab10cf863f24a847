"""Fit of the Gaussian model: closed form, from sums over the rows alone.

    Σ = (1 - a) Σ_w + a tr(Σ_w)/r I                 covariance within classes, shrunk
    M Σ^-1 M' = Q diag(s²) Q',   A = Σ^-1 M'Q / s    directions: within classes I, between diagonal
    T = Q s,   β_d = mean_c T_cd² - 1/n              means of the seen classes, and their variance
    (K + noise_d I) weights_d = T_d                  noise_d = 1/(n β_d) + τ, K the class kernel

with M the means of the C seen classes minus their mean, and n the harmonic mean of their counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from unseen.errors import InputError
from unseen.model.gaussian import Posterior, gaussian_kernel, median_square, squared_distances
from unseen.rows.moments import Moments
from unseen.solvers.penalised import solve_penalised

# The ridge of the covariance is set as if its variance were spread over so many directions.
DIRECTIONS = 300
_LEAST_BETWEEN = 1e-3
_ROUNDING = 1e-6
# Steps towards a better mixture of descriptions.
_MOST_STEPS, _SHARES, _CLEARLY_LESS = 10, (0.1, 0.3), 0.999


class Settings(NamedTuple):
    """Numbers that data do not give; see `unseen.GaussianMatch`."""

    misfit: float
    width: float
    stretch: float
    spread: float
    tails: float | None


class Directions(NamedTuple):
    """What the rows give: A and A'x̄, the means T of the seen classes, β, and counts of rows."""

    projection: np.ndarray
    origin: np.ndarray
    means: np.ndarray
    between: np.ndarray
    counts: np.ndarray


def find_directions(
    moments: Moments, shrinkage: float | None, dtype: Any, basis: np.ndarray | None = None
) -> Directions:
    """The directions in which the means of classes differ, with covariance I within a class.

    dtype : of the rows. basis : of the span of the rows (d x d'), if `moments` are in that.
    """
    n_features = moments.n_columns if basis is None else len(basis)
    means = moments.means()
    origin = means.mean(axis=0)
    means -= origin
    if shrinkage is None:
        shrinkage = usual_shrinkage(float(moments.counts.sum()), n_features)
    factor = moments.shrunk_factor(shrinkage, min(n_features, DIRECTIONS), dtype)
    solved = scipy.linalg.cho_solve((factor, False), means.T.astype(dtype), check_finite=False)
    del factor
    squares, Q = np.linalg.eigh(means @ solved.astype(np.float64))
    # One direction less than classes, and none that is rounding alone.
    keep = np.arange(squares.size) > 0
    keep &= squares > _ROUNDING * squares[-1]
    if squares[-1] <= 0 or not keep.any():
        raise InputError(
            f"the rows of all classes have the same mean (n_features={n_features}), so nothing can "
            "be learned"
        )
    sizes = np.sqrt(squares[keep][::-1])
    Q = Q[:, keep][:, ::-1]
    projection = (solved @ (Q / sizes).astype(dtype)).astype(dtype)
    T = Q * sizes
    return Directions(
        projection if basis is None else basis @ projection,
        origin @ projection.astype(np.float64),
        T,
        between_of(T, moments.counts),
        moments.counts.copy(),
    )


def between_of(T: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """β: the variance of the means T in each direction, without what few rows add to it."""
    variance = np.mean(T**2, axis=0)
    return np.maximum(variance - float(np.mean(1.0 / counts)), _LEAST_BETWEEN * variance)


def fit_posterior(found: Directions, S: np.ndarray, settings: Settings) -> Posterior:
    """The model of these directions and of scaled descriptions S (C x d_s)."""
    width = 2.0 * settings.width**2 * median_square(S)
    values, modes = np.linalg.eigh(gaussian_kernel(S, S, width))
    values = np.maximum(values, 0.0)
    noise = float(np.mean(1.0 / found.counts)) / found.between + settings.misfit
    posterior = Posterior(
        projection=found.projection,
        origin=found.origin,
        between=found.between,
        means=found.means,
        counts=found.counts,
        descriptions=S,
        width=width,
        weights=modes @ ((modes.T @ found.means) / (values[:, None] + noise)),
        modes=modes,
        values=values,
        noise=noise,
        misfit=settings.misfit,
        length=float(np.sqrt(np.mean(np.sum(found.means**2, axis=1)))),
        stretch=settings.stretch,
        spread=settings.spread,
        tails=settings.tails,
    )
    return replace(posterior, gain=expected_gain(posterior))


def weigh_tables(found: Directions, tables: list[np.ndarray], settings: Settings) -> np.ndarray:
    """The weight of each of several scaled descriptions of the seen classes; they sum to one.

    The squared distances of the descriptions are mixed by them. Chosen is what predicts the mean of
    a seen class best from the others: the best description first, then a little of any other for
    as long as that helps. Descriptions are to have a median squared distance of one.
    """

    def error(weights: np.ndarray) -> float:
        S = np.hstack([np.sqrt(w) * table for w, table in zip(weights, tables, strict=True)])
        means, _ = left_out(fit_posterior(found, S, settings))
        return float(np.sum((found.means - means) ** 2))

    alone = np.eye(len(tables))
    errors = [error(weights) for weights in alone]
    best, weights = min(errors), alone[int(np.argmin(errors))]
    for _ in range(_MOST_STEPS):
        tries = [(1 - t) * weights + t * other for t in _SHARES for other in alone]
        errors = [error(mixed) for mixed in tries]
        if min(errors) > _CLEARLY_LESS * best:
            break
        best, weights = min(errors), tries[int(np.argmin(errors))]
    return weights


def usual_shrinkage(n_rows: float, n_features: int) -> float:
    """3/4 for few rows, and less the more rows there are for each column to know Σ_w by."""
    return 0.75 / (1.0 + 0.1 * n_rows / n_features)


def left_out(model: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """μ and v of each seen class as the others predict it, C x h each, in closed form."""
    inverse = 1.0 / (model.values[:, None] + model.noise)
    own = (model.modes**2) @ inverse
    means = model.stretched(model.means - model.weights / own)
    v = model.between * np.maximum(1.0 / own - model.noise + model.misfit, 0.0)
    return means, v


def expected_gain(model: Posterior) -> float:
    """What a class whose mean is predicted gets, to compete with those whose mean is known.

    A row scores less with its class when the mean of that class is predicted: that loss, the
    average over the seen classes, each predicted by the others. But no more than half of what
    parts a row from the nearest other class, predicted as well: with few classes the loss is the
    larger of the two, and all rows of seen classes would go over to unseen ones.
    """
    means, v = left_out(model)
    noise = 1.0 / model.counts[:, None]
    away = np.maximum((model.means - means) ** 2 - noise, 0.0)
    known = _expected_score(model, np.broadcast_to(noise, v.shape), noise)
    loss = float(np.mean(known - _expected_score(model, v, away)))
    apart = squared_distances(model.means, means)
    np.fill_diagonal(apart, np.inf)
    near = apart.argmin(axis=1)
    rival = _expected_score(model, v[near], (model.means - means[near]) ** 2)
    return min(loss, 0.5 * max(float(np.mean(known - rival)), 0.0))


def _expected_score(model: Posterior, v: np.ndarray, away: np.ndarray) -> np.ndarray:
    """log of the density at the mean distance of rows, 1 + away in each direction."""
    variance = 1.0 + model.spread * v
    distances = np.sum((1.0 + away) / variance, axis=1)
    return model.log_density(distances) - 0.5 * np.log(variance).sum(axis=1)


def kernel_ridge(K: np.ndarray, targets: np.ndarray, penalty: float) -> np.ndarray:
    """(K + penalty · mean diagonal · I)^-1 (targets - their average), C x h."""
    system = K + penalty * (np.trace(K) / len(K)) * np.eye(len(K))
    return solve_penalised(system, targets - targets.mean(axis=0), penalty, "descriptions")
