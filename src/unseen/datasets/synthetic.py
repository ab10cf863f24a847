"""A synthetic zero-shot problem of any size with a known cause: factors shared by both domains."""

from __future__ import annotations

import os

import numpy as np
from numpy.lib.format import open_memmap

from unseen.classes import ClassTable
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError
from unseen.files import writing
from unseen.rows.blocks import row_blocks


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
    class_similarity: float = 0.0,
    random_state: int = 0,
    dtype: type = np.float32,
    out: str | os.PathLike[str] | None = None,
) -> ZeroShotDataset:
    """Rows and class table driven by the same latent factors.

        f_c = √ρ g + √(1-ρ) e_c              factors of class c
        s_c = A f_c + τ ε                    its line in the class table
        x   = P (f_c + σ ε') + σ ε''         a row of the class

    with Gaussian g, e, ε, A and P. Each class has a random stream of its own and its rows draw from
    it in turn, block by block, so the result depends on neither block size nor memory.

    Parameters
    ----------
    noise, table_noise : σ and τ; without noise every row of a class is the same.
    class_similarity : ρ in [0, 1): how much all classes have in common.
    out : a .npy file to hold the rows; X is then a read-only memory map of it, and at no time are
        more than a few blocks of rows in memory.
    """
    if not 0 <= class_similarity < 1:
        raise InputError(f"class_similarity must be in [0, 1), not {class_similarity}")
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
    factors = np.sqrt(class_similarity) * shared.standard_normal(n_factors) + np.sqrt(
        1 - class_similarity
    ) * shared.standard_normal((n_classes, n_factors))
    A = shared.standard_normal((n_factors, n_attributes)) / np.sqrt(n_factors)
    P = shared.standard_normal((n_factors, n_features)) / np.sqrt(n_factors)
    table = factors @ A + table_noise * shared.standard_normal((n_classes, n_attributes))
    names = np.array([f"class {c:0{len(str(n_classes - 1))}d}" for c in range(n_classes)])
    shape = (n_classes * rows_per_class, n_features)

    def fill(X: np.ndarray) -> None:
        for c, factor in enumerate(factors):
            stream = np.random.default_rng([random_state, c])
            of_class = X[c * rows_per_class : (c + 1) * rows_per_class]
            for rows in row_blocks(rows_per_class, 8 * (n_factors + n_features)):
                size = (rows.stop - rows.start, n_factors + n_features)
                random = noise * stream.standard_normal(size)
                of_class[rows] = (factor + random[:, :n_factors]) @ P + random[:, n_factors:]

    if out is None:
        X = np.empty(shape, dtype=dtype)
        fill(X)
    else:
        with writing(out) as temporary:
            X = open_memmap(temporary, mode="w+", dtype=np.dtype(dtype), shape=shape)
            fill(X)
            X.flush()
            del X  # closed before it is renamed
        X = np.load(out, mmap_mode="r")
    return ZeroShotDataset(
        name="synthetic",
        X=X,
        y=np.repeat(names, rows_per_class),
        classes=ClassTable(names, table),
        unseen=names[n_seen:],
        notes=(f"synthetic, {n_factors} shared factors, random_state {random_state}",),
    )
