"""Which members an ensemble should have: python -m benchmarks.ensembles DATA...

Accuracy and mAP by class hold-out inside the seen classes; the unseen ones take no part.
"""

from __future__ import annotations

import argparse

from unseen import compare, open_dataset
from unseen.estimators import Ensemble, ZeroShotClassifier, method
from unseen.evaluation.comparison import shown

ALONE = ("gaussian-match", "kernel-jlse", "jlse", "eszsl", "sae")
TOGETHER = (
    ("gaussian-match", "kernel-jlse"),
    ("gaussian-match", "jlse", "sae"),
    ("gaussian-match", "kernel-jlse", "sae"),
    ("gaussian-match", "kernel-jlse", "eszsl", "sae"),
)


def models() -> dict[str, ZeroShotClassifier]:
    found: dict[str, ZeroShotClassifier] = {name: method(name)() for name in ALONE}
    for names in TOGETHER:
        found[" + ".join(names)] = Ensemble(list(names))
    found["the four, weights held out"] = Ensemble(list(TOGETHER[-1]), "holdout")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    for name in given.data:
        data = open_dataset(name)
        X, y = data.training_set()
        found = compare(X, y, data.classes, models(), n_splits=given.splits)
        print(f"\n{name}: {found.n_held} of {found.n_seen} classes held out, {given.splits} times")
        print("| | top-1 | mAP | ahead of gaussian-match | fit (s) |\n| --- |" + " ---: |" * 4)
        for one in found.methods:
            ahead = shown(found.behind("gaussian-match", best=one.method))
            cells = [shown(found.estimate(one.method, m)) for m in ("", "mean_average_precision")]
            print(f"| {one.method} | {' | '.join(cells)} | {ahead} | {one.seconds:.1f} |")


if __name__ == "__main__":
    main()
