"""Labels of any pairs, as a user may give them: +1 a match, -1 none, 0 or not given unknown."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse

from unseen.errors import InputError, nearest

_VALUES = "labels are +1 (a match), -1 (none) and 0 (unknown)"
_PLACES = {"columns": "column", "index": "line"}


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
    Y : one of

        - an N x C array of +1, -1 and 0 = unknown, laid out as the scores of `score_pairs`;
        - a scipy sparse matrix of this shape: stored entries are known pairs, all others unknown;
        - a list of (source, target, label), the first two being numbers of rows of S and X,
          counted from 0; a source that has a name may be called by it.

        A pair that is stored or listed n times counts n times.
    weights : a weight of at least 0 for each pair, in the form of Y: N x C, or one for each entry
        of the list.
    sources, targets : their names, if they have any: a DataFrame is put in their order.

    Returns
    -------
    Signs as int8; where pairs have weights or come more than once, signs times weights in `dtype`.
    """
    shape = (n_targets, n_sources)
    Y = _in_order(Y, "Y", sources, targets)
    weights = _in_order(weights, "weights", sources, targets)
    if isinstance(Y, (list, tuple)):
        found = _listed(_by_number(Y, sources), weights, shape)
    elif scipy.sparse.issparse(Y):
        found = _stored(Y, weights, shape)
    else:
        return _dense(Y, weights, shape, dtype)
    return _checked_signs(_gathered(*found, shape, dtype))


def _in_order(values: Any, what: str, sources: Any, targets: Any) -> Any:
    """A DataFrame with its columns in the order of the sources and its lines in that of the
    targets, by their names; one that only counts them stays as it is."""
    if not (hasattr(values, "columns") and hasattr(values, "reindex")):
        return values
    for axis, names, kind in (("columns", sources, "source"), ("index", targets, "target")):
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
                raise InputError(f"{what} has {number} {_PLACES[axis]} for {kind} {name!r}")
        values = values.reindex(**{axis: known})
    return values


def _by_number(pairs: Any, sources: Any) -> list[Any]:
    """The pairs of a list with names of sources as numbers."""
    known = (
        {} if sources is None else {name: k for k, name in enumerate(np.asarray(sources).tolist())}
    )
    found = []
    for k, entry in enumerate(pairs):
        if len(np.shape(entry)) == 1 and len(entry) == 3 and isinstance(entry[0], str):
            if entry[0] not in known:
                hint = nearest(entry[0], known) if known else "; the sources have no names"
                raise InputError(
                    f"pair {k} of the list, {tuple(entry)!r}, is about source {entry[0]!r}, which "
                    f"is not known{hint}; a source is called by its name, or by its row in S from 0"
                )
            entry = (known[entry[0]], *entry[1:])
        found.append(entry)
    return found


def _dense(Y: Any, weights: Any, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    labels = np.asarray(Y)
    _check_shape(labels.shape, shape, "Y")
    signs = _as_signs(labels, lambda k: f"row {k // shape[1]}, column {k % shape[1]} of Y")
    if weights is None:
        return _checked_signs(signs)
    return _checked_signs(_checked_weights(weights, shape).astype(dtype) * signs)


def _stored(
    Y: Any, weights: Any, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Targets, sources, signs and weights of the entries of a sparse matrix."""
    _check_shape(Y.shape, shape, "Y")
    entries = Y.tocoo()
    targets, sources = entries.row.astype(np.intp), entries.col.astype(np.intp)
    signs = _as_signs(entries.data, lambda k: f"row {targets[k]}, column {sources[k]} of Y")
    if weights is None:
        return targets, sources, signs, None
    if scipy.sparse.issparse(weights):
        _check_shape(weights.shape, shape, "weights")
        of_pairs = np.asarray(weights.tocsr()[targets, sources]).ravel()
        return targets, sources, signs, _checked_weights(of_pairs, targets.shape)
    return targets, sources, signs, _checked_weights(weights, shape)[targets, sources]


def _listed(
    Y: Any, weights: Any, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Targets, sources, signs and weights of a list of (source, target, label)."""
    for k, entry in enumerate(Y):
        if np.shape(entry) != (3,):
            raise InputError(
                f"entry {k} of the list of pairs is {entry!r}, not (source, target, label); give "
                "a matrix of labels as an array"
            )
    table = np.array(Y, dtype=np.float64).reshape(-1, 3)
    for column, (name, size) in enumerate((("source", shape[1]), ("target", shape[0]))):
        numbers = table[:, column]
        bad = ~((numbers >= 0) & (numbers < size) & (numbers % 1 == 0))
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"pair {k} of the list, {tuple(Y[k])!r}, names {name} {numbers[k]:g}, but there "
                f"are {size} {name}s, counted from 0; a pair is (source, target, label)"
            )
    signs = _as_signs(table[:, 2], lambda k: f"pair {k} of the list, {tuple(Y[k])!r},")
    sources, targets = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp)
    own = None if weights is None else _checked_weights(weights, signs.shape)
    return targets, sources, signs, own


def _gathered(
    targets: np.ndarray,
    sources: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray | None,
    shape: tuple[int, int],
    dtype: Any,
) -> np.ndarray:
    """The matrix of these pairs; what comes twice adds up, what contradicts itself is refused."""
    known = signs != 0
    place, signs = (targets * shape[1] + sources)[known], signs[known]
    found = np.zeros(shape, dtype=np.int8)
    found.ravel()[place] = signs
    against = found.ravel()[place] != signs
    if against.any():
        target, source = divmod(int(place[np.argmax(against)]), shape[1])
        raise InputError(
            f"the pair of source {source} and target {target} is given both as +1 and as -1; keep "
            "one of the two"
        )
    repeated = weights is None and np.unique(place).size < place.size
    if weights is None and not repeated:
        return found
    of_pairs = None if weights is None else weights[known]
    mass = np.bincount(place, of_pairs, minlength=found.size).reshape(shape)
    return mass.astype(dtype) * found


def _as_signs(labels: np.ndarray, where: Any) -> np.ndarray:
    """Labels as int8; an error names the first that is none."""
    if labels.dtype.kind == "O":
        labels = labels.astype(np.float64)
    if labels.dtype.kind not in "biuf":
        raise InputError(f"Y holds {labels.dtype} values; {_VALUES}")
    bad = ~((labels == 1) | (labels == -1) | (labels == 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"{where(k)} holds {labels.ravel()[k]!s}; {_VALUES}, which also stands for NaN"
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


def _check_shape(found: tuple[int, ...], shape: tuple[int, int], what: str) -> None:
    if found == shape:
        return
    turned = (
        f"; it lies the other way round: give {what}.T, or S and X are swapped"
        if found == shape[::-1]
        else ""
    )
    raise InputError(
        f"{what} has shape {found}, but there are {shape[0]} targets (rows of X) and {shape[1]} "
        f"sources (rows of S), so it must be {shape}{turned}"
    )
