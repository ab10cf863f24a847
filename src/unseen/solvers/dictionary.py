"""The dictionaries: where they begin, and their blocks of J, B of Eq. (pb) by least squares and D
of Eq. (pd) by block coordinate descent over atoms.

The blocks see the data only through small matrices, Z'Z and X'Z, which are sums over row blocks.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from unseen.rows.blocks import TrainingRows
from unseen.solvers.block import Effort, Solution, finish, relative

ATOMS_PER_BLOCK = 32
# A smaller one lets B grow without bound when two codes nearly coincide, which gains next to
# nothing and ruins the conditioning of the next source-code block.
RCOND = 1e-8
EFFORT = Effort(tol=1e-4)
MOST_CLASS_ATOMS = 200
_OVERSAMPLING = 32
_PASSES = 4


def initial_source_dictionary(
    S: np.ndarray, n_atoms: int | None, random_state: int | None
) -> np.ndarray:
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


def initial_target_dictionary(
    rows: TrainingRows, n_atoms: int, random_state: int | None
) -> np.ndarray:
    """D (d_t x h_t): the top eigenvectors of X̃'X̃, largest first.

    Exact where d_t is small. Otherwise by subspace iteration from a random start with a few
    spare directions, which takes two products with X per pass and never forms d_t x d_t, nor N x h.
    """
    d_t, h = rows.n_columns, min(n_atoms, rows.n_columns, rows.n_rows)
    size = h + _OVERSAMPLING
    if d_t <= 2 * size:
        basis = np.eye(d_t, dtype=rows.dtype)
    else:
        rng = np.random.default_rng(random_state)
        basis = rng.standard_normal((d_t, size)).astype(rows.dtype)
        for _ in range(_PASSES):
            basis = np.linalg.qr(rows.round_trip(basis))[0]
    _, vectors = np.linalg.eigh(rows.gram(basis))
    return np.ascontiguousarray(basis @ vectors[:, ::-1][:, :h].astype(rows.dtype))


def fit_source_dictionary(gram: np.ndarray, cross: np.ndarray, B: np.ndarray) -> Solution:
    """min_B 1/2 Σ_i |x_i - B z_i|², the B step of Alg. 2 (Eq. (pb)).

    gram = Zs'Zs (h x h), cross = S'Zs (d x h); the objective is without 1/2 Σ_i |x_i|². Where gram
    is singular the solution nearest to the start `B` is taken: directions with an eigenvalue below
    `RCOND` of the largest are left alone, so the objective never rises above that of B. The
    certificate is about the other directions.
    """
    dtype = np.result_type(gram, np.float32)
    gram, cross = np.asarray(gram, np.float64), np.asarray(cross, np.float64)
    start = np.asarray(B, np.float64)
    values, vectors = np.linalg.eigh(gram)
    keep = values > RCOND * max(values[-1], 0.0)
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    value = start + (((cross - start @ gram) @ vectors) * inverse) @ vectors.T
    residual = (cross - value @ gram) @ vectors
    objective = -0.5 * float(np.vdot(value, 2 * cross - value @ gram))
    gap = 0.5 * float(np.sum(residual[:, keep] ** 2 * inverse[keep]))
    history = [(1, objective, gap)]
    return finish("The source dictionary block (B)", value.astype(dtype), history, 1e-6)


def _atom_gap(DT: np.ndarray, M: np.ndarray, TT: np.ndarray) -> tuple[float, float]:
    """Frank-Wolfe gap Σ_k <g_k, D_k> + |g_k| >= f(D) - min f, and the objective without |X|²."""
    MD = M @ DT
    G = MD - TT
    gap = np.sum(np.einsum("kd,kd->k", G, DT) + np.linalg.norm(G, axis=1))
    return float(gap), 0.5 * float(np.vdot(DT, MD)) - float(np.vdot(DT, TT))


def _sweep_atoms(DT: np.ndarray, M: np.ndarray, TT: np.ndarray) -> None:
    """One pass over the atoms: each becomes the best with the others fixed; unused ones stay."""
    for first in range(0, len(DT), ATOMS_PER_BLOCK):
        block = slice(first, min(first + ATOMS_PER_BLOCK, len(DT)))
        R = TT[block] - M[block] @ DT
        for k in range(R.shape[0]):
            weight = M[first + k, first + k]
            if weight <= 0:
                continue
            atom = DT[first + k] + R[k] / weight
            atom /= max(1.0, float(np.linalg.norm(atom)))
            R -= np.outer(M[block, first + k], atom - DT[first + k])
            DT[first + k] = atom


def fit_target_dictionary(
    gram: np.ndarray, cross: np.ndarray, D: np.ndarray, data_sq: float, effort: Effort = EFFORT
) -> Solution:
    """min_D 1/2 Σ_j |x_j - D z_j|²  s.t.  |D_k| <= 1 for every atom (column), the D step of Alg. 2
    (Eq. (pd)).

    gram = Zt'Zt (h x h), cross = X'Zt (d x h), D: start (d x h), data_sq = Σ_j |x_j|². Every
    atom update is exact, so the objective never rises. The certificate is the Frank-Wolfe gap, an
    upper bound on the distance to the minimum, relative to data_sq/2. n_iter counts sweeps over the
    atoms.
    """
    dtype = np.result_type(D, np.float32)
    M, TT = np.asarray(gram, np.float64), np.ascontiguousarray(np.asarray(cross, np.float64).T)
    DT = np.array(np.asarray(D).T, np.float64, order="C")
    DT /= np.maximum(1.0, np.linalg.norm(DT, axis=1, keepdims=True))
    history, optimality = [], np.inf
    for n_sweeps in range(effort.limit(100) + 1):
        if n_sweeps:
            _sweep_atoms(DT, M, TT)
        gap, value = _atom_gap(DT, M, TT)
        objective = 0.5 * data_sq + value
        optimality = relative(gap, max(abs(objective), 0.5 * data_sq))
        history.append((n_sweeps, objective, gap))
        if optimality <= effort.tol:
            break
    what, value = "The target dictionary block (D)", DT.T.astype(dtype, order="C")
    return finish(what, value, history, effort.tol, optimality=optimality)
