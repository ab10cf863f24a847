"""Checks of what the measures are given: labels, candidates and scores."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from unseen.classes.checks import as_names, check_unmasked
from unseen.errors import InputError, nearest


def as_labels(values: ArrayLike, what: str) -> np.ndarray:
    """One label per row, as numpy str or int64."""
    labels = as_names(values, what)
    if labels.size == 0:
        raise InputError(f"{what} is empty; give a list of at least one label")
    if labels.dtype.kind not in "Uiu":
        raise InputError(f"{what} must be names (str) or whole numbers, not {labels.dtype}")
    return labels if labels.dtype.kind == "U" else labels.astype(np.int64)


def check_same_kind(a: np.ndarray, a_name: str, b: np.ndarray, b_name: str) -> None:
    if a.dtype.kind != b.dtype.kind:
        raise InputError(
            f"{a_name} holds {a[0].item()!r} and {b_name} {b[0].item()!r}; "
            "use names in both, or whole numbers in both"
        )


def label_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    true, predicted = as_labels(y_true, "y_true"), as_labels(y_pred, "y_pred")
    check_same_kind(true, "y_true", predicted, "y_pred")
    if len(true) != len(predicted):
        sizes = f"y_true has {len(true)} rows and y_pred {len(predicted)}"
        raise InputError(f"{sizes}; give one prediction per row")
    return true, predicted


def as_candidates(candidates: ArrayLike) -> np.ndarray:
    names = as_labels(candidates, "candidates")
    unique, counts = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        twice = unique[counts > 1][0].item()
        raise InputError(f"candidates names {twice!r} more than once; give each class one column")
    return names


def positions_of(labels: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    """The position of each label among the candidates `names`."""
    check_same_kind(labels, what, names, "candidates")
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


def scores_of_rows(
    y_true: ArrayLike, scores: ArrayLike, names: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The score matrix, and the column of each row's true class."""
    S, true = score_matrix(scores, names), as_labels(y_true, "y_true")
    if len(S) != len(true):
        raise InputError(f"y_true has {len(true)} rows and scores {len(S)}; give one label per row")
    return S, positions_of(true, names, "y_true")


def score_matrix(scores: ArrayLike, names: np.ndarray) -> np.ndarray:
    S = as_floats(scores)
    if S.ndim != 2 or len(S) == 0 or S.shape[1] != len(names):
        raise InputError(
            f"scores has shape {S.shape}; give at least one row, and one column for each of the "
            f"{len(names)} candidates"
        )
    return S


def as_relevance(
    relevant: ArrayLike, scores: ArrayLike, needs_hit: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    hit, s = np.asarray(relevant), as_floats(scores)
    if hit.ndim != 1 or hit.shape != s.shape or hit.size == 0:
        shapes = f"relevant has shape {hit.shape} and scores {s.shape}"
        raise InputError(f"{shapes}; give one value per row in both")
    if hit.dtype.kind != "b" and not np.isin(hit, (0, 1)).all():
        raise InputError("relevant holds more than 0 and 1; give True or False for each row")
    if needs_hit and not hit.any():
        raise InputError("relevant marks no row, so there is no recall; leave this query out")
    return hit.astype(bool), s


def as_floats(scores: ArrayLike) -> np.ndarray:
    """Floats of any precision as they are, without a copy; whole numbers as float64."""
    check_unmasked(scores, "scores")
    values = np.asarray(scores)
    if values.dtype.kind not in "fiub":
        raise InputError(f"scores has dtype {values.dtype}; give real numbers")
    if values.size and np.isnan(values.min()):
        first = np.argwhere(np.isnan(values))[0].tolist()
        raise InputError(f"scores holds NaN, first at {first}; repair it or leave that row out")
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def seen_columns(names: np.ndarray, seen_classes: ArrayLike) -> np.ndarray:
    """A mask of the seen candidates; a misspelt seen class is an error, not an unseen one."""
    columns = np.zeros(len(names), dtype=bool)
    columns[positions_of(as_labels(seen_classes, "seen_classes"), names, "seen_classes")] = True
    check_both_sides(columns, "candidate")
    return columns


def check_both_sides(is_seen: np.ndarray, what: str) -> None:
    if is_seen.all() or not is_seen.any():
        missing = "an unseen" if is_seen.all() else "a seen"
        raise InputError(f"no {what} is of {missing} class; the generalised setting needs both")


def check_k(k: int, most: int, what: str) -> None:
    if not isinstance(k, Integral) or not 1 <= k <= most:
        raise InputError(f"k is {k}; give a whole number from 1 to {most}, the number of {what}")
