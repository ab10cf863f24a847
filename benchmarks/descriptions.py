"""GaussianMatch with one and with several descriptions of the birds of CUB.

    UNSEEN_DATA=/path/to/data python -m benchmarks.descriptions          inside the seen classes
    UNSEEN_DATA=/path/to/data python -m benchmarks.descriptions --unseen   on the unseen ones

Attributes, sentences (`sent_splits.mat`) and articles (`wiki_tfidf.npz`) in the folder of CUB; the
weights of the three are learned in the fit.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import scipy.io

from unseen import ClassTable, GaussianMatch, open_dataset
from unseen.classes.splits import ClassHoldout
from unseen.metrics import mean_average_precision, per_class_accuracy


def descriptions(names: np.ndarray, folder: Path) -> dict[str, ClassTable]:
    """Sentences and articles of these birds, matched by name."""
    sentences = scipy.io.loadmat(folder / "sent_splits.mat")
    articles = np.load(folder / "wiki_tfidf.npz")
    found = {
        "sentences": ([n[0][0] for n in sentences["allclasses_names"]], sentences["att"].T),
        "articles": (articles["classes"], articles["tfidf"]),
    }
    tables = {}
    for title, (birds, vectors) in found.items():
        place = {_key(bird): k for k, bird in enumerate(birds)}
        tables[title] = ClassTable(names, vectors[[place[_key(name)] for name in names]])
    return tables


def _key(name: str) -> str:
    return str(name).split(".")[-1].lower()


def measure(table: ClassTable, train: tuple, test: tuple) -> str:
    model = GaussianMatch().fit(*train, classes=table)
    X, y = test
    candidates = np.unique(y)
    scores = model.similarities(X, candidates.tolist())
    accuracy = per_class_accuracy(y, candidates[scores.argmax(axis=1)])
    mean_ap = mean_average_precision(y, scores, candidates)
    weights = getattr(model, "table_weights_", None) or {}
    shares = ", ".join(f"{name} {weight:.1f}" for name, weight in weights.items())
    return f"{100 * accuracy:.1f} / {100 * mean_ap:.1f}   {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--unseen", action="store_true", help="the unseen classes of the split")
    unseen = parser.parse_args().unseen
    data = open_dataset("CUB efflite0")
    folder = Path(os.environ.get("UNSEEN_DATA", "../shared/data")) / "CUB"
    tables = {"attributes": data.classes} | descriptions(data.classes.names, folder)
    if unseen:
        splits = [(data.training_set(), data.unseen_set())]
    else:
        X, y = data.training_set()
        holdout = ClassHoldout(50, n_splits=2)
        splits = [((X[a], y[a]), (X[b], y[b])) for a, b in holdout.split(X, y)]
    for title, table in {**tables, "all three": ClassTable.beside(tables)}.items():
        for train, test in splits:
            print(f"{title:11s} {measure(table, train, test)}", flush=True)


if __name__ == "__main__":
    main()
