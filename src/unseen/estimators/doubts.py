"""Where a model can be fitted or used and yet mean nothing, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import counted, listed
from unseen.rows.blocks import array_blocks

ORDINARY = (
    "without `classes` each class is described by itself alone, which makes this an ordinary "
    "classifier of the classes in y; give a class table to recognise classes without rows"
)


def doubts_of_training(X: np.ndarray, table: ClassTable, seen: np.ndarray) -> Iterator[str]:
    """Why nothing can be learned from these rows, or of these classes."""
    if X.shape[0] > 1 and all((X[rows] == X[0]).all() for rows in array_blocks(X)):
        yield "all training rows are the same: no class can be told from another"
    alike = _same(table.vectors)
    if 0 < len(alike) < table.n_classes - 1:  # all of them the same is an error of its own
        name, other = (table.names[k].item() for k in alike[0])
        more = f", and {counted(len(alike) - 1, 'more pair')}" if len(alike) > 1 else ""
        yield f"{name!r} and {other!r} have the same description{more}: no row can tell them apart"
    is_seen = np.isin(table.names, seen)
    used = (table.vectors[is_seen] != 0).any(axis=0)
    strange = table.names[~is_seen & ~(table.vectors[:, used] != 0).any(axis=1)].tolist()
    if strange:
        yield (
            f"the description of {listed(strange)} has nothing in common with that of any seen "
            "class (no column in which both are other than zero): what is said of "
            f"{'it' if len(strange) == 1 else 'them'} is guessed"
        )


def doubts_of_scores(n_tied: int, n_rows: int) -> Iterator[str]:
    """That most rows fit several candidates equally well."""
    if 2 * n_tied > n_rows:
        yield (
            f"{n_tied:,} of {counted(n_rows, 'row')} fit several candidates equally well; of these "
            "the first is named, which is no better than chance"
        )


def n_tied(scores: np.ndarray) -> int:
    """The rows whose best score several candidates have."""
    return int(np.sum((scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1))


def _same(vectors: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of classes with equal vectors: each with the first that has it."""
    first: dict[bytes, int] = {}
    pairs = []
    for k, vector in enumerate(vectors + 0.0):  # -0.0 is 0.0
        known = first.setdefault(vector.tobytes(), k)
        if known != k:
            pairs.append((known, k))
    return pairs
