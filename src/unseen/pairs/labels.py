"""Labels of any pairs, as a user may give them: +1 a match, -1 none, 0 or not given unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from unseen.classes.checks import check_unmasked
from unseen.errors import InputError, nearest

_VALUES = "labels are +1 (a match), -1 (none) and 0 (unknown)"


def pair_labels(
    Y: Any,
    n_targets: int,
    n_sources: int,
    weights: Any = None,
    dtype: Any = np.float64,
    *,
    sources: Any = None,
    targets: Any = None,
) -> np.ndarray:
    """y_ij of N targets and C sources as an N x C matrix, targets down, sources across.

    Parameters
    ----------
    Y : an N x C array of +1, -1 and 0 = unknown, laid out as the scores of `score_pairs`; or a
        scipy sparse matrix of this shape: stored entries are known pairs, all others unknown, and a
        pair that is stored n times counts n times.
    weights : a weight of at least 0 for each pair, N x C, sparse or not.
    sources, targets : their names, if they have any: a DataFrame is put in their order.

    Returns
    -------
    Signs as int8; where pairs have weights or come more than once, signs times weights in `dtype`.
    """
    shape = (n_targets, n_sources)
    check_unmasked(Y, "Y")
    check_unmasked(weights, "weights")
    Y = _in_order(Y, "Y", sources, targets)
    weights = _in_order(weights, "weights", sources, targets)
    is_sparse = scipy.sparse.issparse(Y)
    Y = Y.tocoo() if is_sparse else np.asarray(Y)
    _check_shape(Y.shape, shape)
    found = _stored(Y, dtype) if is_sparse else _as_signs(Y, lambda k: divmod(k, n_sources))
    if weights is not None:
        found = _checked_weights(weights, shape).astype(dtype) * found
    return _checked_signs(found)


def _in_order(values: Any, what: str, sources: Any, targets: Any) -> Any:
    """A DataFrame with its columns in the order of the sources and its lines in that of the
    targets, by their names; one that only counts them stays as it is."""
    if not (hasattr(values, "columns") and hasattr(values, "reindex")):
        return values
    named = (("columns", "column", sources, "source"), ("index", "line", targets, "target"))
    for axis, place, names, kind in named:
        given = getattr(values, axis).tolist()
        if names is None or given == list(range(len(given))):
            continue
        known = np.asarray(names).tolist()
        times, expected = Counter(given), set(known)
        for name in (name for name in times if name not in expected):
            hint = nearest(name, known)
            raise InputError(f"{what} is about {kind} {name!r}, which is not known{hint}")
        for name in known:
            if times[name] != 1:
                number = "more than one" if times[name] else "no"
                raise InputError(f"{what} has {number} {place} for {kind} {name!r}")
        values = values.reindex(**{axis: known})
    return values


def _stored(Y: Any, dtype: Any) -> np.ndarray:
    """The matrix of the entries of a sparse one; what comes twice adds up, what contradicts itself
    is refused."""
    signs = _as_signs(Y.data, lambda k: (Y.row[k], Y.col[k]))
    known = signs != 0
    targets, sources, signs = Y.row[known], Y.col[known], signs[known]
    found = np.zeros(Y.shape, dtype=np.int8)
    found[targets, sources] = signs
    against = found[targets, sources] != signs
    if against.any():
        k = int(np.argmax(against))
        raise InputError(
            f"the pair of source {sources[k]} and target {targets[k]} is given both as +1 and as "
            "-1; keep one of the two"
        )
    if np.count_nonzero(found) == signs.size:
        return found
    times = np.zeros(Y.shape, dtype)
    np.add.at(times, (targets, sources), signs)
    return times


def _as_signs(labels: np.ndarray, place: Callable[[int], tuple[int, int]]) -> np.ndarray:
    """Labels as int8; an error names the place of the first that is none."""
    if labels.dtype.kind == "O":
        labels = labels.astype(np.float64)
    if labels.dtype.kind not in "biuf":
        raise InputError(f"Y holds {labels.dtype} values; {_VALUES}")
    bad = ~((labels == 1) | (labels == -1) | (labels == 0))
    if bad.any():
        k = int(np.argmax(bad))
        target, source = place(k)
        raise InputError(
            f"row {target}, column {source} of Y holds {labels.ravel()[k]!s}; {_VALUES}, which "
            "also stands for NaN"
        )
    return labels.astype(np.int8)


def _checked_signs(signs: np.ndarray) -> np.ndarray:
    n_positive, n_negative = int((signs > 0).sum()), int((signs < 0).sum())
    if n_positive and n_negative:
        return signs
    if not n_positive and not n_negative:
        raise InputError(f"no pair has a label, so there is nothing to learn from; {_VALUES}")
    missing = "-1" if n_positive else "+1"
    hint = "; if every 0 of Y means 'no match' and none 'unknown', give 2 * Y - 1"
    hint = hint if n_positive else ""
    raise InputError(f"no pair has the label {missing}, and both signs are needed{hint}; {_VALUES}")


def _checked_weights(weights: Any, shape: tuple[int, ...]) -> np.ndarray:
    values = weights.toarray() if scipy.sparse.issparse(weights) else np.asarray(weights)
    if values.shape != shape:
        raise InputError(f"weights have shape {values.shape}; give one for each pair: {shape}")
    if values.dtype.kind not in "biuf" or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("weights of pairs must be finite numbers of at least 0")
    return values


def _check_shape(found: tuple[int, ...], shape: tuple[int, int]) -> None:
    if found == shape:
        return
    turned = "; it lies the other way round: give Y.T, or S and X are swapped"
    turned = turned if found == shape[::-1] else ""
    raise InputError(
        f"Y has shape {found}, but there are {shape[0]} targets (rows of X) and {shape[1]} "
        f"sources (rows of S), so it must be {shape}{turned}"
    )
