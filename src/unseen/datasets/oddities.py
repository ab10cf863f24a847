"""What does not stop the work with a data set, but what its user will want to know."""

from __future__ import annotations

import numpy as np

from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import listed

# Rows from which the units of columns are seen, and how much larger one may be than is usual.
_LOOKED_AT = 1000
_DROWNS = 100.0


def oddities(data: ZeroShotDataset) -> list[str]:
    """Each in a sentence."""
    odd = []
    if data.unseen.size and data.unseen_rows.size == 0:
        odd.append("no rows of unseen classes: the data can train a model but not evaluate it")
    if data.unseen.size == 1:
        odd.append(
            "only one unseen class: every prediction among it alone is right, so accuracy says "
            "nothing"
        )
    odd += _scales(data)
    vectors, counts = np.unique(data.classes.vectors, axis=0, return_counts=True)
    if len(vectors) < data.classes.n_classes:
        twin = vectors[counts.argmax()]
        twins = data.classes.names[(data.classes.vectors == twin).all(axis=1)]
        odd.append(f"{listed(twins.tolist())} have the same description and cannot be told apart")
    return odd


def _scales(data: ZeroShotDataset) -> list[str]:
    """Rows that are all the same, and columns of a table in units that drown the others."""
    rows = data.train_rows
    X = data.X[rows[:: -(-rows.size // _LOOKED_AT)]].astype(np.float64)
    varies = np.ptp(X, axis=0) > 0
    if not varies.any():
        return ["all training rows are the same: nothing can be learned from them"]
    size = np.where(varies, np.abs(X).max(axis=0), 1.0)  # squares of huge numbers are infinite
    spread = np.where(varies, (X / size).std(axis=0) * size, 0.0)
    largest, usual = int(spread.argmax()), float(np.median(spread[varies]))
    if data.feature_names is None or spread[largest] < _DROWNS * usual:
        return []
    return [
        f"column {data.feature_names[largest]!r} spreads {spread[largest] / usual:,.3g} times as "
        "far as the usual one and will decide alone: bring columns to like units, as by dividing "
        "each by its standard deviation over the training rows"
    ]
