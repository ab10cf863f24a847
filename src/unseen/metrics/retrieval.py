"""How well scores rank rows for a class, or pairs of any kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics as curves

from unseen.errors import InputError
from unseen.metrics.input import as_candidates, as_relevance, check_k, scores_of_rows


def average_precision(relevant: ArrayLike, scores: ArrayLike) -> float:
    """Σ_n (r_n - r_{n-1}) p_n over the distinct scores, from the highest down.

    p_n, r_n: precision and recall of all rows that score at least the n-th value, so tied rows
    enter together. At least one row must be relevant.
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


def known_pairs(labels: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """[y_ij = +1] and s_ij of the pairs with y_ij ≠ 0, as `relevant` and `scores` of the measures.

    `labels` (+1, -1, 0 = unknown) and `scores` are arrays of one shape.
    """
    y, s = np.asarray(labels), np.asarray(scores)
    if y.shape != s.shape:
        raise InputError(f"labels are {y.shape} and scores {s.shape}; give one score per pair")
    return y[y != 0] > 0, s[y != 0]


def roc_auc(relevant: ArrayLike, scores: ArrayLike) -> float:
    """P(s⁺ > s⁻) + P(s⁺ = s⁻) / 2 for a random relevant and a random irrelevant pair (or row)."""
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


def _ranking(relevant: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct scores from the highest down; relevant rows, and rows, that score at least that.

    Not by scikit-learn, which refuses -inf, the logarithm of a probability of 0.
    """
    order = np.argsort(scores)[::-1]
    ranked = scores[order]
    last_of_tie = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    return ranked[last_of_tie], np.cumsum(relevant[order])[last_of_tie], last_of_tie + 1
