"""What Algorithm 4 loses when rows that were drawn stand for all training rows.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.row_pulls          (a few minutes)

Each split holds out a quarter of the seen classes; unseen classes take no part. A model keeps what
it needs to know of all training rows, and then of some that are drawn, so many times; the share of
held-out rows that change their class and the per-class accuracy are compared. The last columns
have the mean loss of held-out classes over the rows: how far that of a draw is off in root mean
square, and the bound that the model file states.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.data import DATASETS, load
from unseen.apps.cli.output import show
from unseen.estimators import JLSE, KernelJLSE
from unseen.metrics import per_class_accuracy
from unseen.model import pulls
from unseen.pairs.loss import pair_loss


def predicted(model: Any, latent: Any, X: np.ndarray) -> np.ndarray:
    model.latent_, model._kept = latent, {}
    return model.predict(X)


def losses(latent: Any, codes: np.ndarray) -> np.ndarray:
    """The mean loss of classes over the training rows that the model knows of."""
    return pair_loss(-latent.away_pulls() @ codes.T - latent.away_bias, latent.loss).mean(axis=0)


def compared(kind: Any, data: Any, split: int, sizes: list[int], draws: int) -> list[list[float]]:
    """One split: a line of differences for each number of rows drawn."""
    X, y = data.training_set()
    X, seen = np.asarray(X), np.unique(y)
    held = np.random.default_rng(split).choice(seen, max(len(seen) // 4, 5), replace=False)
    is_held = np.isin(y, held)
    model = kind(keep_codes=True).fit(X[~is_held], y[~is_held], classes=data.classes.select(seen))
    whole, rows, truth = model.latent_, X[is_held], y[is_held]
    before = predicted(model, whole, rows)
    codes = model.transform_classes()
    accuracy, level = per_class_accuracy(truth, before), losses(whole, codes)
    lines = []
    for size in sizes:
        found = []
        for seed in range(draws):
            pulls.MOST_NUMBERS, pulls.LEAST_ROWS = 0, size
            few = replace(whole).without_codes(seed)
            now = predicted(model, few, rows)
            off = np.mean((losses(few, codes) - level) ** 2)
            change = 100 * (per_class_accuracy(truth, now) - accuracy)
            found.append([change, abs(change), 100 * np.mean(now != before), off, few.pulls.error])
        lines.append(np.mean(found, axis=0).tolist())
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="*", default=DATASETS)
    parser.add_argument("--rows", nargs="*", type=int, default=[1000, 5000])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    lines = []
    for name in given.data:
        data = load(name)
        for kind in (JLSE, KernelJLSE):
            splits = range(given.splits)
            found = np.array([compared(kind, data, k, given.rows, given.draws) for k in splits])
            for size, each in zip(given.rows, found.mean(axis=0), strict=True):
                numbers = [f"{each[0]:+.2f}", f"{each[1]:.2f}", f"{each[2]:.2f}"]
                numbers += [f"{np.sqrt(each[3]):.4f}", f"{each[4]:.4f}"]
                lines.append([name, kind.__name__, f"{size:,}", *numbers])
    head = ["data", "method", "rows drawn", "accuracy, points", "size of that, one draw"]
    head += ["rows that change, %", "loss off by", "bound"]
    show("Rows drawn in place of all training rows, on held-out seen classes", head, lines)


if __name__ == "__main__":
    main()
