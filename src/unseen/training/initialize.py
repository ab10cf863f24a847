"""Where training starts: the dictionaries of the paper's section "Implementation"."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from unseen.rows.training import TrainingRows

MOST_CLASS_ATOMS = 200
_OVERSAMPLING = 32
_PASSES = 4


def source_dictionary(S: np.ndarray, n_atoms: int | None, random_state: int | None) -> np.ndarray:
    """B (d_s x h_s): the descriptions of the seen classes, or k-means centres of them.

    Without `n_atoms` every class is an atom, up to 200 classes; beyond, 200 centres. Where there
    are no more different descriptions than centres, the atoms are those descriptions.
    """
    h = min(S.shape[0], MOST_CLASS_ATOMS if n_atoms is None else n_atoms)
    if h == S.shape[0]:
        return S.T.copy()
    different = np.unique(S, axis=0)
    if different.shape[0] <= h:
        return np.ascontiguousarray(different.T)
    centres = KMeans(h, n_init="auto", random_state=random_state).fit(S).cluster_centers_
    return np.ascontiguousarray(centres.T, dtype=S.dtype)


def target_dictionary(rows: TrainingRows, n_atoms: int, random_state: int | None) -> np.ndarray:
    """D (d_t x h_t): the top eigenvectors of X̃'X̃, largest first.

    Exact where d_t is small. Otherwise by subspace iteration from a random start with a few
    spare directions, which takes two products with X a pass and never forms d_t x d_t.
    """
    d_t, h = rows.n_columns, min(n_atoms, rows.n_columns, rows.n_rows)
    size = h + _OVERSAMPLING
    if d_t <= 2 * size:
        basis = np.eye(d_t, dtype=rows.dtype)
    else:
        rng = np.random.default_rng(random_state)
        basis = rng.standard_normal((d_t, size)).astype(rows.dtype)
        for _ in range(_PASSES):
            basis = np.linalg.qr(rows.cross(rows.project(basis)))[0]
    projected = rows.project(basis)
    _, vectors = np.linalg.eigh((projected.T @ projected).astype(np.float64))
    return np.ascontiguousarray(basis @ vectors[:, ::-1][:, :h].astype(rows.dtype))
