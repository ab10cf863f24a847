"""Measures of recognition, retrieval and the generalised (seen and unseen) setting.

Names say what is averaged: `per_class_...` gives each class one vote (the field's measure),
`per_image_...` each row. Labels are names (str) or whole numbers, matched by name. No measure
depends on the order of rows or candidates: what ties in score counts by its expected share.

Symbols: y_j label of row j; s_jc its score for candidate c (`scores`, N x C, column c belongs to
`candidates[c]`); R_c = {j : y_j = c}; C* the classes that occur in `y_true`.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unseen.errors import InputError, nearest


# Recognition
def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """1/|C*| Σ_c 1/|R_c| Σ_{j in R_c} [ŷ_j = y_j]: each class one vote; balanced accuracy."""
    return float(np.mean(list(accuracies_by_class(y_true, y_pred).values())))


def accuracies_by_class(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str | int, float]:
    """1/|R_c| Σ_{j in R_c} [ŷ_j = y_j] for each class c of `y_true`, sorted by name."""
    true, predicted = _label_pair(y_true, y_pred)
    names, accuracies = _means_by_class(true, true == predicted)
    return dict(zip(names.tolist(), accuracies.tolist(), strict=True))


def per_image_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """1/N Σ_j [ŷ_j = y_j]: each row one vote, so that large classes dominate."""
    true, predicted = _label_pair(y_true, y_pred)
    return float(np.mean(true == predicted))


def per_class_top_k_accuracy(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike, k: int = 1
) -> float:
    """1/|C*| Σ_c 1/|R_c| Σ_{j in R_c} h_j with h_j = clip((k - a_j) / t_j, 0, 1).

    a_j candidates score above the true class, t_j the same (itself included). Without ties
    h_j = [a_j < k]; with ties it is the chance that a random order of the tied puts the true
    class among the first k, so constant scores give k/C.
    """
    names = _candidates(candidates)
    S, true = _scores_of_rows(y_true, scores, names)
    _check_k(k, len(names), "candidates")
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
    true, predicted = _label_pair(y_true, y_pred)
    names = np.union1d(true, predicted) if candidates is None else _candidates(candidates)
    a, b = _positions(true, names, "y_true"), _positions(predicted, names, "y_pred")
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
    _, hits, retrieved = _ranking(*_relevance(relevant, scores, needs_hit=True))
    return float(np.sum(np.diff(hits, prepend=0) * hits / retrieved) / hits[-1])


def average_precision_by_class(
    y_true: ArrayLike, scores: ArrayLike, candidates: ArrayLike
) -> dict[str | int, float]:
    """AP_c of ([y_j = c], s_jc): all rows ranked for candidate c, in the order of `candidates`.

    Candidates without a row in `y_true` have no AP and are left out.
    """
    names = _candidates(candidates)
    S, true = _scores_of_rows(y_true, scores, names)
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
    thresholds, hits, retrieved = _ranking(*_relevance(relevant, scores, needs_hit=True))
    precision = np.append((hits / retrieved)[::-1], 1.0)
    return PrecisionRecallCurve(precision, np.append(hits[::-1] / hits[-1], 0.0), thresholds[::-1])


def precision_at_k(relevant: ArrayLike, scores: ArrayLike, k: int) -> float:
    """1/k · relevant rows among the k best; a tie across the border counts by expected share."""
    hit, s = _relevance(relevant, scores)
    _check_k(k, len(s), "rows")
    _, hits, retrieved = _ranking(hit, s)
    return float(np.interp(k, np.append(0, retrieved), np.append(0, hits)) / k)


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
    true, predicted = _label_pair(y_true, y_pred)
    seen_names = _labels(seen_classes, "seen_classes")
    _check_same_kind(true, "y_true", seen_names, "seen_classes")
    is_seen = np.isin(true, seen_names)
    _check_both_sides(is_seen, "row of y_true")
    seen = per_class_accuracy(true[is_seen], predicted[is_seen])
    unseen = per_class_accuracy(true[~is_seen], predicted[~is_seen])
    return GeneralizedAccuracy(seen, unseen, harmonic_mean(seen, unseen))


def apply_calibration(
    scores: ArrayLike, candidates: ArrayLike, seen_classes: ArrayLike, factor: float
) -> np.ndarray:
    """s_jc - γ [c seen]: calibrated stacking (Chao et al. 2016); a new array of the same dtype."""
    names = _candidates(candidates)
    S = _score_matrix(scores, names)
    if not np.isfinite(factor):
        raise InputError(f"factor is {factor}; give a finite number, 0 for no calibration")
    return S - (factor * _seen_columns(names, seen_classes)).astype(S.dtype)


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
    names = _candidates(candidates)
    S, true = _scores_of_rows(y_true, scores, names)
    scale = float(max(S.max(), -S.min()))
    if not np.isfinite(scale):
        raise InputError("scores holds an infinite value; the sweep needs finite ones, so clip it")
    columns = _seen_columns(names, seen_classes)
    _check_both_sides(columns[true], "row of y_true")
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


# Checks
def _labels(values: ArrayLike, what: str) -> np.ndarray:
    """One label a row, as numpy str or int64; lists come as objects lest 1 turn into '1'."""
    labels = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(f"{what} has shape {labels.shape}; give a list of at least one label")
    kinds = set(map(type, labels.tolist())) if labels.dtype.kind == "O" else {labels.dtype.type}
    if all(issubclass(kind, str) for kind in kinds):
        return labels.astype(str)
    if all(issubclass(kind, Integral) and kind is not bool for kind in kinds):
        return labels.astype(np.int64)
    found = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"{what} holds {found}; give names (str) only, or whole numbers (int) only")


def _check_same_kind(a: np.ndarray, a_name: str, b: np.ndarray, b_name: str) -> None:
    if a.dtype.kind != b.dtype.kind:
        raise InputError(
            f"{a_name} holds {a[0].item()!r} and {b_name} {b[0].item()!r}; "
            "use names in both, or whole numbers in both"
        )


def _label_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    true, predicted = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    _check_same_kind(true, "y_true", predicted, "y_pred")
    if len(true) != len(predicted):
        raise InputError(
            f"y_true has {len(true)} rows and y_pred {len(predicted)}; give one prediction a row"
        )
    return true, predicted


def _candidates(candidates: ArrayLike) -> np.ndarray:
    names = _labels(candidates, "candidates")
    unique, counts = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        twice = unique[counts > 1][0].item()
        raise InputError(f"candidates names {twice!r} more than once; give each class one column")
    return names


def _positions(labels: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    """Where each label stands in the candidates `names`."""
    _check_same_kind(labels, what, names, "candidates")
    order = np.argsort(names)
    found = order[np.searchsorted(names, labels, sorter=order).clip(max=len(names) - 1)]
    unknown = labels[names[found] != labels]
    if unknown.size:
        name, count = unknown[0].item(), np.count_nonzero(unknown == unknown[0])
        raise InputError(
            f"{what} has class {name!r} ({count} times), which is not among the candidates; "
            f"add it to them or leave it out{nearest(name, names.tolist())}"
        )
    return found


def _scores_of_rows(
    y_true: ArrayLike, scores: ArrayLike, names: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The score matrix, and the column of each row's true class."""
    S, true = _score_matrix(scores, names), _labels(y_true, "y_true")
    if len(S) != len(true):
        raise InputError(f"y_true has {len(true)} rows and scores {len(S)}; give one label a row")
    return S, _positions(true, names, "y_true")


def _score_matrix(scores: ArrayLike, names: np.ndarray) -> np.ndarray:
    S = _floats(scores)
    if S.ndim != 2 or len(S) == 0 or S.shape[1] != len(names):
        raise InputError(
            f"scores has shape {S.shape}; give at least one row and, "
            f"as there are {len(names)} candidates, {len(names)} columns"
        )
    return S


def _relevance(
    relevant: ArrayLike, scores: ArrayLike, needs_hit: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    hit, s = np.asarray(relevant), _floats(scores)
    if hit.ndim != 1 or hit.shape != s.shape or hit.size == 0:
        raise InputError(
            f"relevant has shape {hit.shape} and scores {s.shape}; give one value a row in both"
        )
    if hit.dtype.kind != "b" and not np.isin(hit, (0, 1)).all():
        raise InputError("relevant holds more than 0 and 1; give true or false for each row")
    if needs_hit and not hit.any():
        raise InputError("relevant marks no row, so there is no recall; leave this query out")
    return hit.astype(bool), s


def _floats(scores: ArrayLike) -> np.ndarray:
    """Floats of any precision as they are, without a copy; whole numbers as float64."""
    values = np.asarray(scores)
    if values.dtype.kind not in "fiub":
        raise InputError(f"scores has dtype {values.dtype}; give real numbers")
    if values.size and np.isnan(values.min()):
        first = np.argwhere(np.isnan(values))[0].tolist()
        raise InputError(f"scores holds NaN, first at {first}; repair it or leave that row out")
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _seen_columns(names: np.ndarray, seen_classes: ArrayLike) -> np.ndarray:
    """Marks the seen candidates; all must be known, or a misspelt one would pass as unseen."""
    columns = np.zeros(len(names), dtype=bool)
    columns[_positions(_labels(seen_classes, "seen_classes"), names, "seen_classes")] = True
    _check_both_sides(columns, "candidate")
    return columns


def _check_both_sides(is_seen: np.ndarray, what: str) -> None:
    if is_seen.all() or not is_seen.any():
        missing = "an unseen" if is_seen.all() else "a seen"
        raise InputError(f"no {what} is of {missing} class; the generalised setting needs both")


def _check_k(k: int, most: int, what: str) -> None:
    if not isinstance(k, Integral) or not 1 <= k <= most:
        raise InputError(f"k is {k}; give a whole number from 1 to {most}, the number of {what}")
