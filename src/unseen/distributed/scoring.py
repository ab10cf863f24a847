"""A fitted model on a Dask collection: lazy, block by block; the model stands in the graph once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import delayed

from unseen.classes import ClassTable
from unseen.distributed.blocks import Kept, as_table, da, row_type, stretches, total
from unseen.distributed.rows import labels_beside, with_lengths
from unseen.inference.relative import probabilities, relative_scores


class _Ready(NamedTuple):
    """What a block is scored by: made once by a worker, and handed to the others."""

    model: Any
    table: ClassTable | None
    prepared: Any
    penalties: Any
    dtype: np.dtype

    def blocks(self, X: Any, number: int) -> Iterator[np.ndarray]:
        return (part for _, part in stretches(X, self.dtype, number))

    def scores(self, X: Any, number: int) -> Iterator[np.ndarray]:
        model = self.model
        return model._scored(self.blocks(X, number), model._score, self.prepared, self.penalties)


def _ready(kept: Kept) -> _Ready:
    model, table, dtype = kept.value
    if table is None:
        return _Ready(model, None, None, None, dtype)
    return _Ready(model, table, model._prepare(table), model._penalties(table), dtype)


def _with(model: Any, X: Any, table: ClassTable | None = None) -> tuple[Any, Any]:
    """Rows as a table, and what their blocks are scored by."""
    X = as_table(model, X, reset=False)
    value = Kept((model._for_scoring(), table, row_type(X)))
    return X, delayed(_ready, pure=False)(value)


def _mapped(function: Any, X: Any, ready: Any, dtype: Any, width: int | None = None) -> Any:
    """A lazy array with one row for each row of X, of so many columns, or flat."""
    if width is None:
        shape: Any = {"drop_axis": 1, "meta": np.empty(0, dtype)}
    else:
        shape = {"chunks": (X.chunks[0], (width,)), "meta": np.empty((0, width), dtype)}
    return da.map_blocks(
        function, X, ready=ready, wanted=np.dtype(dtype), width=width, dtype=dtype, **shape
    )


def predict(model: Any, X: Any, table: ClassTable, reject: float | None = None) -> Any:
    """The name of the best candidate of each row, lazy; None where it is too improbable."""
    X, ready = _with(model, X, table)
    if reject is None:
        return _mapped(_predicted, X, ready, table.names.dtype)
    scores = _mapped(_scored, X, ready, row_type(X), table.n_classes)
    given = {"names": table.names, "temperature": model._temperature(), "reject": reject}
    return scores.map_blocks(_accepted, **given, drop_axis=1, meta=np.empty(0, object))


def similarities(model: Any, X: Any, table: ClassTable) -> Any:
    """The scores of each row, N x C', lazy."""
    X, ready = _with(model, X, table)
    return _mapped(_scored, X, ready, row_type(X), table.n_classes)


def transform(model: Any, X: Any) -> Any:
    """The embedding of each row, N x h, lazy."""
    X, ready = _with(model, X)
    return _mapped(_coded, X, ready, row_type(X), model._n_features_out)


def _predicted(X: Any, *, ready: _Ready, wanted: Any, width: None, block_id: Any) -> np.ndarray:
    best = [scores.argmax(axis=1) for scores in ready.scores(X, block_id[0])]
    names = ready.table.names  # pyright: ignore[reportOptionalMemberAccess]
    return names[np.concatenate(best)] if best else np.empty(0, wanted)


def _accepted(
    scores: np.ndarray, names: np.ndarray, temperature: float, reject: float
) -> np.ndarray:
    found = names[scores.argmax(axis=1)].astype(object)
    found[probabilities(scores, temperature).max(axis=1) < reject] = None
    return found


def _scored(X: Any, *, ready: _Ready, wanted: Any, width: int, block_id: Any) -> np.ndarray:
    return _joined(list(ready.scores(X, block_id[0])), wanted, width)


def _coded(X: Any, *, ready: _Ready, wanted: Any, width: int, block_id: Any) -> np.ndarray:
    codes = [ready.model._row_codes(block) for block in ready.blocks(X, block_id[0])]
    return _joined(codes, wanted, width)


def _joined(parts: list[np.ndarray], dtype: Any, width: int) -> np.ndarray:
    if not parts:
        return np.empty((0, width), dtype)
    return np.concatenate(parts).astype(dtype, copy=False)


def top_k(model: Any, X: Any, k: int, table: ClassTable) -> tuple[Any, Any]:
    """Names and scores of the k best candidates, N x k each, lazy, with one scoring for both."""
    X, ready = _with(model, X, table)
    scores = _mapped(_scored, X, ready, row_type(X), table.n_classes)
    shape = {"chunks": (X.chunks[0], (k,))}
    names = scores.map_blocks(
        _first_names, k=k, names=table.names, **shape, meta=np.empty((0, k), table.names.dtype)
    )
    first = scores.map_blocks(_first_scores, k=k, **shape, meta=np.empty((0, k), scores.dtype))
    return names, first


def _first(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _first_names(scores: np.ndarray, k: int, names: np.ndarray) -> np.ndarray:
    return names[_first(scores, k)]


def _first_scores(scores: np.ndarray, k: int) -> np.ndarray:
    return np.take_along_axis(scores, _first(scores, k), axis=1)


# -- what comes back as numbers -------------------------------------------------------------------


def score(
    model: Any, X: Any, y: Any, table: ClassTable, check_scored: Callable[..., None]
) -> float:
    """The mean over the classes in y of the share of rows that are right."""
    X = with_lengths(as_table(model, X, reset=False))
    labels, names, _ = labels_beside(X, y)
    check_scored(model, names, table)
    in_order = np.sort(table.names)
    found, numbers = predict(model, X, table), labels.numbers_in(in_order)
    hits = da.map_blocks(
        _hits, found, numbers, names=in_order, dtype=object, meta=np.empty(0, object)
    )
    right, counts = total(hits.to_delayed().ravel().tolist()).compute()
    return float(np.mean(right[counts > 0] / counts[counts > 0]))


def _hits(found: np.ndarray, numbers: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, ...]:
    """How many rows of each class are right, and how many there are."""
    counts = np.bincount(numbers, minlength=names.size).astype(np.float64)
    return np.bincount(numbers, found == names[numbers], names.size), counts


@dataclass(frozen=True)
class Best:
    """The k best of so many rows: their numbers and scores, as a stable sort gives them."""

    n_rows: int
    rows: np.ndarray
    scores: np.ndarray
    k: int

    @classmethod
    def of(cls, scores: np.ndarray, k: int) -> Best:
        rows = np.arange(scores.size)
        if scores.size > 4 * k:
            # Ties at the edge must stay, so that the first of them can win.
            edge = np.partition(scores, scores.size - k)[scores.size - k]
            rows = np.flatnonzero(scores >= edge)
        order = rows[np.argsort(-scores[rows], kind="stable")[:k]]
        return cls(scores.size, order, scores[order], k)

    def merged(self, later: Best) -> Best:
        """With the best of rows that come after these."""
        rows = np.concatenate([self.rows, later.rows + self.n_rows])
        scores = np.concatenate([self.scores, later.scores])
        order = np.argsort(-scores, kind="stable")[: self.k]
        return Best(self.n_rows + later.n_rows, rows[order], scores[order], self.k)


@dataclass(frozen=True)
class _Spread:
    """Number, mean, and sum of squares around it, of scores."""

    n: int
    mean: float
    squares: float

    def merged(self, other: _Spread) -> _Spread:
        n, apart = self.n + other.n, other.mean - self.mean
        if not n:
            return self
        squares = self.squares + other.squares + apart**2 * self.n * other.n / n
        return _Spread(n, self.mean + apart * other.n / n, squares)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


def rank(model: Any, X: Any, table: ClassTable, k: int | None, is_relative: bool) -> Best:
    """The rows that fit the first class best: partial top-k of blocks, merged by a tree.

    With `is_relative` the other classes compete for them, which takes a pass more, for the spread
    of all scores. Blocks may be of unknown length.
    """
    X, ready = _with(model, X, table)
    spread = None
    if is_relative:
        spread = total(_parts(_spread_of, X, ready)).compute().deviation
    most = sys.maxsize if k is None else k
    return total(_parts(_best_of, X, ready, k=most, spread=spread)).compute()


def _parts(function: Any, X: Any, ready: Any, **more: Any) -> list[Any]:
    found = da.map_blocks(
        function, X, ready=ready, **more, dtype=object, meta=np.empty((0, 0), object)
    )
    return found.to_delayed().ravel().tolist()


def _spread_of(X: Any, *, ready: _Ready, block_id: Any) -> _Spread:
    found = _Spread(0, 0.0, 0.0)
    for scores in ready.scores(X, block_id[0]):
        mean = float(scores.mean(dtype=np.float64))
        apart = scores.astype(np.float64) - mean
        found = found.merged(_Spread(scores.size, mean, float(np.vdot(apart, apart))))
    return found


def _best_of(X: Any, *, ready: _Ready, k: int, spread: float | None, block_id: Any) -> Best:
    best = None
    for scores in ready.scores(X, block_id[0]):
        own = scores if spread is None else relative_scores(scores, spread)
        part = Best.of(own[:, 0], k)
        best = part if best is None else best.merged(part)
    return Best.of(np.empty(0, ready.dtype), k) if best is None else best
