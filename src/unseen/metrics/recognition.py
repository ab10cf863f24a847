"""How often the right class is named."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unseen.classes.table import names_and_counts, places_among
from unseen.metrics.input import as_candidates, check_k, label_pair, positions_of, scores_of_rows


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


def _means_by_class(labels: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    names, sizes = names_and_counts(labels)
    return names, np.bincount(places_among(names, labels), weights=values) / sizes
