"""Measures of recognition, retrieval and the generalised (seen and unseen) setting.

Names say what is averaged: `per_class_...` gives each class one vote (the field's measure),
`per_image_...` each row. Labels are names (str) or whole numbers, matched by name. No measure
depends on the order of rows or candidates: what ties in score counts by its expected share.

Symbols: y_j label of row j; s_jc its score for candidate c (`scores`, N x C, column c belongs to
`candidates[c]`); R_c = {j : y_j = c}; C* the classes that occur in `y_true`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics as curves

from unseen.errors import InputError
from unseen.metrics.input import (
    as_candidates,
    as_labels,
    as_relevance,
    check_both_sides,
    check_k,
    check_same_kind,
    label_pair,
    positions_of,
    score_matrix,
    scores_of_rows,
    seen_columns,
)


# Recognition
def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """1/|C*| Σ_c 1/|R_c| Σ_{j in R_c} [ŷ_j = y_j]: each class one vote; balanced accuracy."""
    return float(np.mean(list(accuracies_by_class(y_true, y_pred).values())))


def accuracies_by_class(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str | int, float]:
    """1/|R_c| Σ_{j in R_c} [ŷ_j = y_j] for each class c of `y_true`, sorted by name."""
    true, predicted = label_pair(y_true, y_pred)
    names, accuracies = _means_by_class(true, true == predicted)
    return dict(zip(names.tolist(), accuracies.tolist(), strict=True))


def per_image_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """1/N Σ_j [ŷ_j = y_j]: each row one vote, so that large classes dominate."""
    true, predicted = label_pair(y_true, y_pred)
    return float(np.mean(true == predicted))


def per_class_top_k_accuracy(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike, k: int = 1
) -> float:
    """1/|C*| Σ_c 1/|R_c| Σ_{j in R_c} h_j with h_j = clip((k - a_j) / t_j, 0, 1).

    a_j candidates score above the true class, t_j the same (itself included). Without ties
    h_j = [a_j < k]; with ties it is the chance that a random order of the tied puts the true
    class among the first k, so constant scores give k/C.
    """
    names = as_candidates(candidates)
    S, true = scores_of_rows(y_true, scores, names)
    check_k(k, len(names), "candidates")
    own = np.take_along_axis(S, true[:, None], axis=1)
    above, tied = np.count_nonzero(own < S, axis=1), np.count_nonzero(own == S, axis=1)
    _, accuracies = _means_by_class(true, np.clip((k - above) / tied, 0, 1))
    return float(accuracies.mean())


class ConfusionMatrix(NamedTuple):
    """`values[a, b]`: number (or share) of the rows of `names[a]` predicted as `names[b]`."""

    names: np.ndarray
    values: np.ndarray


def confusion_matrix(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    candidates: ArrayLike | None = None,
    normalize: bool = False,
) -> ConfusionMatrix:
    """M_ab = Σ_j [y_j = a] [ŷ_j = b], in the order of `candidates` (default: all labels, sorted).

    `normalize` divides each line by its sum, which makes the diagonal the accuracy by class; the
    line of a class without rows stays 0.
    """
    true, predicted = label_pair(y_true, y_pred)
    names = np.union1d(true, predicted) if candidates is None else as_candidates(candidates)
    a, b = positions_of(true, names, "y_true"), positions_of(predicted, names, "y_pred")
    C = len(names)
    counts = np.bincount(a * C + b, minlength=C * C).reshape(C, C)
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return ConfusionMatrix(names, counts / sizes if normalize else counts)


# Retrieval
def average_precision(relevant: ArrayLike, scores: ArrayLike) -> float:
    """Σ_n (r_n - r_{n-1}) p_n over the distinct scores, from the highest down.

    p_n, r_n: precision and recall of all rows that score at least the n-th value, so tied rows
    enter together. No relevant row is an error: there is nothing to recall.
    """
    _, hits, retrieved = _ranking(*as_relevance(relevant, scores, needs_hit=True))
    return float(np.sum(np.diff(hits, prepend=0) * hits / retrieved) / hits[-1])


def average_precision_by_class(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike
) -> dict[str | int, float]:
    """AP_c of ([y_j = c], s_jc): all rows ranked for candidate c, in the order of `candidates`.

    Candidates without a row in `y_true` have no AP and are left out.
    """
    names = as_candidates(candidates)
    S, true = scores_of_rows(y_true, scores, names)
    return {names[c].item(): average_precision(true == c, S[:, c]) for c in np.unique(true)}


def mean_average_precision(y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike) -> float:
    """mAP = 1/|C*| Σ_c AP_c over the candidates that have rows in `y_true`."""
    return float(np.mean(list(average_precision_by_class(y_true, scores, candidates).values())))


class PrecisionRecallCurve(NamedTuple):
    """Thresholds rise; the last precision and recall, 1 and 0, have none (as in scikit-learn)."""

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray


def precision_recall_curve(relevant: ArrayLike, scores: ArrayLike) -> PrecisionRecallCurve:
    """p(t) = hits(t) / retrieved(t), r(t) = hits(t) / hits(-∞); retrieved: rows with score >= t."""
    thresholds, hits, retrieved = _ranking(*as_relevance(relevant, scores, needs_hit=True))
    precision = np.append((hits / retrieved)[::-1], 1.0)
    return PrecisionRecallCurve(precision, np.append(hits[::-1] / hits[-1], 0.0), thresholds[::-1])


def precision_at_k(relevant: ArrayLike, scores: ArrayLike, k: int) -> float:
    """1/k · relevant rows among the k best; a tie across the border counts by expected share."""
    hit, s = as_relevance(relevant, scores)
    check_k(k, len(s), "rows")
    _, hits, retrieved = _ranking(hit, s)
    return float(np.interp(k, np.append(0, retrieved), np.append(0, hits)) / k)


# Pairs
def known_pairs(labels: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """[y_ij = +1] and s_ij of the pairs with y_ij ≠ 0, as `relevant` and `scores` of the measures.

    `labels` (+1, -1, 0 = unknown) and `scores` are arrays of one shape.
    """
    y, s = np.asarray(labels), np.asarray(scores)
    if y.shape != s.shape:
        raise InputError(f"labels have shape {y.shape} and scores {s.shape}; give one score a pair")
    return y[y != 0] > 0, s[y != 0]


def roc_auc(relevant: ArrayLike, scores: ArrayLike) -> float:
    """P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2 for a relevant and an irrelevant pair (or row) by chance."""
    return float(curves.roc_auc_score(*_both_kinds(relevant, scores)))


class RocCurve(NamedTuple):
    """Thresholds fall from infinity, where nothing is retrieved."""

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray


def roc_curve(relevant: ArrayLike, scores: ArrayLike) -> RocCurve:
    """Share of the relevant, against that of the irrelevant, among what scores at least t."""
    return RocCurve(*curves.roc_curve(*_both_kinds(relevant, scores)))


def _both_kinds(relevant: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    hit, s = as_relevance(relevant, scores, needs_hit=True)
    if hit.all():
        raise InputError("relevant marks every row, so there is nothing to tell apart")
    return hit, s


# Generalised setting
class GeneralizedAccuracy(NamedTuple):
    """Per-class accuracies on the rows of seen and of unseen classes, and their harmonic mean."""

    seen: float
    unseen: float
    harmonic_mean: float


class SeenUnseenCurve(NamedTuple):
    """Point n holds for all factors between `critical[n - 1]` and `critical[n]`.

    `factors[n]` is the middle of that interval (the two outer ones are open: a point well inside);
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
        return GeneralizedAccuracy(
            float(self.seen[n]), float(self.unseen[n]), float(self.harmonic_mean[n])
        )


def harmonic_mean(seen: float, unseen: float) -> float:
    """H = 2 a_s a_u / (a_s + a_u), and 0 where both are 0."""
    if not (0 <= seen < np.inf and 0 <= unseen < np.inf):
        raise InputError(f"harmonic_mean of {seen} and {unseen}: give two accuracies, 0 or more")
    return float(_harmonic_means(np.array(seen), np.array(unseen)))


def generalized_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, seen_classes: ArrayLike
) -> GeneralizedAccuracy:
    """(a_s, a_u, H): per-class accuracy over the seen and over the other classes of `y_true`."""
    true, predicted = label_pair(y_true, y_pred)
    seen_names = as_labels(seen_classes, "seen_classes")
    check_same_kind(true, "y_true", seen_names, "seen_classes")
    is_seen = np.isin(true, seen_names)
    check_both_sides(is_seen, "row of y_true")
    seen = per_class_accuracy(true[is_seen], predicted[is_seen])
    unseen = per_class_accuracy(true[~is_seen], predicted[~is_seen])
    return GeneralizedAccuracy(seen, unseen, harmonic_mean(seen, unseen))


def apply_calibration(
    scores: ArrayLike, candidates: ArrayLike, seen_classes: ArrayLike, factor: float
) -> np.ndarray:
    """s_jc - γ [c seen]: calibrated stacking (Chao et al. 2016); a new array of the same dtype."""
    names = as_candidates(candidates)
    S = score_matrix(scores, names)
    if not np.isfinite(factor):
        raise InputError(f"factor is {factor}; give a finite number, 0 for no calibration")
    return S - (factor * seen_columns(names, seen_classes)).astype(S.dtype)


def seen_unseen_curve(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike, seen_classes: ArrayLike
) -> SeenUnseenCurve:
    """a_s(γ) = Σ_{j seen} w_j h_j [g_j > γ],  a_u(γ) = Σ_{j unseen} w_j h_j [g_j < γ].

    γ is subtracted from the scores of the seen classes (Chao et al. 2016). Row j changes sides at
    g_j = max_{c seen} s_jc - max_{c unseen} s_jc; h_j = 1 if its class is the best of its own side
    (1/t if t tie for that); w_j gives each class of a side the same weight. One sort of the g_j is
    the whole curve, exactly. AUSUC, the area under (a_u, a_s), is by trapezoids: exact, as the
    curve is a staircase that slopes only where seen and unseen rows flip at the same γ.
    `best_factor` maximises H: the middle of its interval, the widest of equals, among intervals
    that the rounding of the scores can resolve; 0 if none has H > 0.
    """
    names = as_candidates(candidates)
    S, true = scores_of_rows(y_true, scores, names)
    scale = float(max(S.max(), -S.min()))
    if not np.isfinite(scale):
        raise InputError("scores holds an infinite value; the sweep needs finite ones, so clip it")
    columns = seen_columns(names, seen_classes)
    check_both_sides(columns[true], "row of y_true")
    critical, seen, unseen = _staircase(*_flips(S, true, columns), columns[true])
    H = _harmonic_means(seen, unseen)
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


def _harmonic_means(seen: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    total = np.asarray(seen + unseen, dtype=np.float64)
    return np.divide(2 * seen * unseen, total, out=np.zeros_like(total), where=total > 0)


# Shared parts
def _means_by_class(labels: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    names, index, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return names, np.bincount(index, weights=values) / sizes


def _ranking(relevant: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct scores from the highest down; relevant rows, and rows, that score at least that."""
    order = np.argsort(scores)[::-1]
    ranked = scores[order]
    last_of_tie = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    return ranked[last_of_tie], np.cumsum(relevant[order])[last_of_tie], last_of_tie + 1
