"""The generalised setting, in which seen and unseen classes compete."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unseen.errors import InputError
from unseen.metrics import input as given
from unseen.metrics.recognition import per_class_accuracy


class GeneralizedAccuracy(NamedTuple):
    """Per-class accuracies on the rows of seen and of unseen classes, and their harmonic mean."""

    seen: float
    unseen: float
    harmonic_mean: float


class SeenUnseenCurve(NamedTuple):
    """Point n holds for all factors between `critical[n - 1]` and `critical[n]`.

    `factors[n]` is the middle of that interval (the outer two are open: a point well inside);
    `critical`, one entry shorter, are the factors at which a prediction that matters flips.
    """

    factors: np.ndarray
    seen: np.ndarray
    unseen: np.ndarray
    harmonic_mean: np.ndarray
    critical: np.ndarray
    ausuc: float
    best_factor: float
    best_harmonic_mean: float

    def at(self, factor: float) -> GeneralizedAccuracy:
        """The accuracies at any factor; exactly on a critical value the seen class wins."""
        n = np.searchsorted(self.critical, factor, side="left")
        return GeneralizedAccuracy(*(float(v[n]) for v in self[1:4]))


def harmonic_mean(seen: Any, unseen: Any) -> Any:
    """H = 2 a_s a_u / (a_s + a_u), and 0 where both are 0; of two numbers, or of two arrays."""
    a, b = np.asarray(seen, dtype=np.float64), np.asarray(unseen, dtype=np.float64)
    if not all(np.all((x >= 0) & (x < np.inf)) for x in (a, b)):
        raise InputError(f"harmonic_mean of {seen} and {unseen}: give two accuracies, 0 or more")
    H = np.divide(2 * a * b, a + b, out=np.zeros(np.shape(a + b)), where=a + b > 0)
    return H if H.ndim else float(H)


def generalized_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, seen_classes: ArrayLike
) -> GeneralizedAccuracy:
    """(a_s, a_u, H): per-class accuracy over the seen and over the other classes of `y_true`."""
    true, predicted = given.label_pair(y_true, y_pred)
    seen_names = given.as_labels(seen_classes, "seen_classes")
    given.check_same_kind(true, "y_true", seen_names, "seen_classes")
    is_seen = np.isin(true, seen_names)
    given.check_both_sides(is_seen, "row of y_true")
    seen = per_class_accuracy(true[is_seen], predicted[is_seen])
    unseen = per_class_accuracy(true[~is_seen], predicted[~is_seen])
    return GeneralizedAccuracy(seen, unseen, harmonic_mean(seen, unseen))


def seen_unseen_curve(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike, seen_classes: ArrayLike
) -> SeenUnseenCurve:
    """a_s(γ) = Σ_{j seen} w_j h_j [g_j > γ],  a_u(γ) = Σ_{j unseen} w_j h_j [g_j < γ].

    γ is subtracted from the scores of the seen classes (Chao et al. 2016). Row j changes sides at
    g_j = max_{c seen} s_jc - max_{c unseen} s_jc; h_j = 1 if its class is the best of its own side
    (1/t if t tie for that); w_j gives each class of a side the same weight. One sort of the g_j
    gives the exact curve. AUSUC, the area under (a_u, a_s), is exact by trapezoids: the curve is a
    staircase that slopes only where seen and unseen rows flip at the same γ. `best_factor`
    maximises H: the middle of the widest interval among equals that the rounding of the scores can
    resolve; 0 if none has H > 0.
    """
    names = given.as_candidates(candidates)
    S, true = given.scores_of_rows(y_true, scores, names)
    scale = float(max(S.max(), -S.min()))
    if not np.isfinite(scale):
        raise InputError("scores holds an infinite value; the curve needs finite ones, so clip it")
    columns = given.seen_columns(names, seen_classes)
    given.check_both_sides(columns[true], "row of y_true")
    critical, seen, unseen = _staircase(*_flips(S, true, columns), columns[true])
    H = harmonic_mean(seen, unseen)
    ausuc = float(np.sum(np.diff(unseen) * (seen[1:] + seen[:-1])) / 2)
    # Nothing changes beyond the outermost flips: the end factors lie one score scale outside.
    first, last = critical[[0, -1]] if critical.size else (0.0, 0.0)
    edges = np.hstack([first - 2 * (scale or 1.0), critical, last + 2 * (scale or 1.0)])
    factors, widths = edges[:-1] + np.diff(edges) / 2, np.diff(edges)
    usable = np.where(widths > 16 * np.finfo(S.dtype).eps * scale, H, 0.0)
    best = np.argmax(np.where(usable >= usable.max() - 1e-12, widths, 0.0))
    best_factor = float(factors[best]) if usable[best] > 0 else 0.0
    return SeenUnseenCurve(
        factors, seen, unseen, H, critical, ausuc, best_factor, float(usable[best])
    )


def _flips(S: np.ndarray, true: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g_j and w_j h_j of `seen_unseen_curve`; `columns` marks the seen candidates."""
    is_seen = columns[true]
    best_seen = S.max(axis=1, where=columns, initial=-np.inf)
    best_unseen = S.max(axis=1, where=~columns, initial=-np.inf)
    tied = np.where(is_seen, best_seen, best_unseen)[:, None] == S
    tied &= is_seen[:, None] == columns
    right = np.take_along_axis(tied, true[:, None], axis=1)[:, 0] / np.count_nonzero(tied, axis=1)
    present, index, sizes = np.unique(true, return_inverse=True, return_counts=True)
    n_seen = np.count_nonzero(columns[present])
    n_own_side = np.where(is_seen, n_seen, len(present) - n_seen)
    return best_seen.astype(np.float64) - best_unseen, right / (sizes[index] * n_own_side)


def _staircase(
    gaps: np.ndarray, weights: np.ndarray, is_seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Critical factors, and both accuracies on the intervals before, between and after them."""
    critical, step = np.unique(gaps[weights > 0], return_inverse=True)
    is_seen, weights = is_seen[weights > 0], weights[weights > 0]
    lost = np.bincount(step, weights=weights * is_seen, minlength=len(critical))
    gained = np.bincount(step, weights=weights * ~is_seen, minlength=len(critical))
    seen, unseen = np.append(np.cumsum(lost[::-1])[::-1], 0.0), np.append(0.0, np.cumsum(gained))
    return critical, np.minimum(seen, 1.0), np.minimum(unseen, 1.0)
