"""FeatureVAE beside two closed forms: python -m benchmarks.generated DATA...

Accuracy and mAP by class hold-out inside the seen classes, on the same splits; the unseen ones take
no part. Of each class the first rows by a fixed draw are taken, as networks are slow on one core.
"""

from __future__ import annotations

import argparse

import numpy as np

from unseen import compare, open_dataset
from unseen.estimators import method
from unseen.evaluation.comparison import shown

METHODS = ("feature-vae", "eszsl", "gaussian-match")


def some_rows(y: np.ndarray, most: int) -> np.ndarray:
    """At most so many rows of each class, in the order they come."""
    rng = np.random.default_rng(0)
    kept = [rng.permutation(np.flatnonzero(y == name))[:most] for name in np.unique(y)]
    return np.sort(np.concatenate(kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=40, help="rows of a class at most")
    given = parser.parse_args()
    for name in given.data:
        data = open_dataset(name)
        X, y = data.training_set()
        kept = some_rows(y, given.rows)
        models = {known: method(known)() for known in METHODS}
        found = compare(X[kept], y[kept], data.classes, models, n_splits=given.splits)
        print(f"\n{name}: {found.n_held} of {found.n_seen} classes held out, {given.splits} times")
        print("| | top-1 | mAP | feature-vae is ahead by | fit (s) |\n| --- |" + " ---: |" * 4)
        for one in found.methods:
            ahead = shown(found.behind(one.method, best="feature-vae"))
            cells = [shown(found.estimate(one.method, m)) for m in ("", "mean_average_precision")]
            print(
                f"| {one.method} | {' | '.join(cells)} | {ahead} | {one.seconds:.1f} |", flush=True
            )


if __name__ == "__main__":
    main()
