"""Training of a conditional variational autoencoder, with torch.

    q(z | x, s) = N(z; m, diag v),   (m, log v) = max(0, [x, s] E1 + e1) E2 + e2      encoder
    p(x | z, s) = N(x; f, diag σ²),            f = max(0, [z, s] D1 + d1) D2 + d2      decoder
    p(z)        = N(z; 0, I)

    log p(x | s)  >=  E_q log p(x | z, s) - KL(q(z | x, s) | p(z))

The right side, the evidence lower bound, is made large. Codes are z = m + √v ε with ε from N(0, I),
one a row and step, so that gradients reach the encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unseen.training.networks import Passes, as_arrays, as_layers, descend, first_layers

# Layers that give numbers, and no hidden units, begin small: the first rows drawn lie near zero.
_FIRST_SIZE = 0.3
# Variances of codes stay within e^-8 and e^8: one wild step must not end in infinity.
_WIDEST = 8.0


class Sizes(NamedTuple):
    """Length of a code z, and the number of hidden units of encoder and decoder."""

    n_codes: int
    n_hidden: int


class Rows(NamedTuple):
    """Rows to be trained on, of mean square length one.

    of : gives those with these numbers.
    labels : of all rows, numbers of descriptions.
    order : numbers of all rows, in an order that does not depend on how they came.
    variances : within classes, of each column. σ² begins there: steps of one size in log σ² would
        take long to reach what columns of very different size need.
    """

    of: Callable[[np.ndarray], np.ndarray]
    labels: np.ndarray
    order: np.ndarray
    variances: np.ndarray


class Trained(NamedTuple):
    """The decoder D1, d1, D2, d2; σ² of each column; and the objective in each pass."""

    decoder: list[np.ndarray]
    noise: np.ndarray
    history: np.ndarray


def train(
    torch: Any,
    rows: Rows,
    S: np.ndarray,
    sizes: Sizes,
    penalty: float,
    passes: Passes,
    rng: np.random.Generator,
) -> Trained:
    """Train on rows with scaled descriptions S (C x d_s)."""
    width, dtype = rows.variances.size, rows.of(rows.order[:1]).dtype
    first = [*start(width, S.shape[1], sizes, rng), np.log(width * rows.variances)]
    layers = as_layers(torch, first, dtype)

    def loss(batch: np.ndarray) -> Any:
        noise = rng.standard_normal((batch.size, sizes.n_codes))
        parts = rows.of(batch), S[rows.labels[batch]], noise
        x, s, e = (torch.from_numpy(part.astype(dtype, copy=False)) for part in parts)
        return objective(torch, layers, x, s, e, penalty)

    history = descend(torch, layers, loss, rows.order, passes, rng)
    arrays = as_arrays(layers)
    return Trained(arrays[4:8], np.exp(arrays[8].astype(np.float64)) / width, history)


def start(
    width: int, n_descriptors: int, sizes: Sizes, rng: np.random.Generator
) -> list[np.ndarray]:
    """Random E1, e1, E2, e2, D1, d1, D2, d2 for rows of so many columns."""
    layers: list[np.ndarray] = []
    for given, wanted in ((width, 2 * sizes.n_codes), (sizes.n_codes, width)):
        first, bias, second = first_layers(given + n_descriptors, sizes.n_hidden, wanted, rng)
        layers += [first, bias, _FIRST_SIZE * second, np.zeros(wanted)]
    return layers


def objective(torch: Any, layers: list[Any], rows: Any, S: Any, noise: Any, penalty: float) -> Any:
    """Minus the mean of the evidence lower bound over rows, a column; plus what weights cost.

    S : the description of each row. noise : ε of each row.

    The last of the layers is log(width σ²); the constant 1/2 log(2π / width) a column is left out.
    What a code does is not penalised, as the codes of a new class are those of all others; what a
    description does is, by λ/2 (|D1_s|² + |D2|²) with the rows of D1 that belong to s.
    """
    E1, e1, E2, e2, D1, d1, D2, d2, log_noise = layers
    width, n_codes = rows.shape[1], noise.shape[1]
    found = torch.relu(torch.cat([rows, S], 1) @ E1 + e1) @ E2 + e2
    mean, log_variance = found[:, :n_codes], found[:, n_codes:].clamp(-_WIDEST, _WIDEST)
    codes = mean + torch.exp(0.5 * log_variance) * noise
    drawn = torch.relu(torch.cat([codes, S], 1) @ D1 + d1) @ D2 + d2
    misfit = 0.5 * (width * (rows - drawn) ** 2 * torch.exp(-log_noise) + log_noise).sum(1)
    bound = misfit + divergence(torch, mean, log_variance)
    square = (D1[n_codes:] ** 2).sum() + (D2**2).sum()
    return bound.mean() / width + 0.5 * penalty * square


def divergence(torch: Any, mean: Any, log_variance: Any) -> Any:
    """KL(N(mean, diag variance) | N(0, I)) of each row."""
    return 0.5 * (mean**2 + torch.exp(log_variance) - 1.0 - log_variance).sum(1)
