"""A synthetic zero-shot problem of any size with a known cause: factors shared by both domains."""

from __future__ import annotations

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError


def make_zero_shot(
    n_seen: int = 20,
    n_unseen: int = 5,
    rows_per_class: int = 50,
    n_features: int = 64,
    n_attributes: int = 30,
    n_factors: int = 10,
    *,
    noise: float = 0.5,
    table_noise: float = 0.0,
    random_state: int = 0,
    dtype: type = np.float32,
) -> ZeroShotDataset:
    """Rows and class table driven by the same latent factors.

        s_c = A f_c + τ ε                    the line of class c in the class table
        x   = P (f_c + σ ε') + σ ε''         a row of the class

    with Gaussian factors f, noise ε, A and P. Each class has a random stream of its own and its
    rows draw from it in turn, so more rows per class leave the first ones as they are.

    Parameters
    ----------
    noise, table_noise : σ and τ; without noise every row of a class is the same.
    """
    sizes = {
        "n_seen": n_seen,
        "rows_per_class": rows_per_class,
        "n_features": n_features,
        "n_attributes": n_attributes,
        "n_factors": n_factors,
    }
    for name, size, least in (*((k, v, 1) for k, v in sizes.items()), ("n_unseen", n_unseen, 0)):
        if size < least:
            raise InputError(f"{name} must be at least {least}, not {size}")
    n_classes = n_seen + n_unseen
    shared = np.random.default_rng(random_state)
    # The first line belongs to no class; it keeps the data of a seed what they have always been.
    factors = shared.standard_normal((1 + n_classes, n_factors))[1:]
    A = shared.standard_normal((n_factors, n_attributes)) / np.sqrt(n_factors)
    P = shared.standard_normal((n_factors, n_features)) / np.sqrt(n_factors)
    table = factors @ A + table_noise * shared.standard_normal((n_classes, n_attributes))
    names = np.array([f"class {c:0{len(str(n_classes - 1))}d}" for c in range(n_classes)])
    X = np.empty((n_classes, rows_per_class, n_features), dtype=dtype)
    for c, factor in enumerate(factors):
        stream = np.random.default_rng([random_state, c])
        random = noise * stream.standard_normal((rows_per_class, n_factors + n_features))
        X[c] = (factor + random[:, :n_factors]) @ P + random[:, n_factors:]
    return ZeroShotDataset(
        name="synthetic",
        X=X.reshape(-1, n_features),
        y=np.repeat(names, rows_per_class),
        classes=ClassTable(names, table),
        unseen=names[n_seen:],
        notes=(f"synthetic, {n_factors} shared factors, random_state {random_state}",),
    )
