"""Attributes against the same attributes as sentences, on seen classes held out:

    python -m benchmarks.texts [FOLDER of a sentence encoder]

A class is described by its attributes, by a sentence that lists those it has (TF-IDF, and the
sentence encoder if one is given), and by both side by side. The unseen classes take no part.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np

from unseen import ESZSL, ClassTable, GaussianMatch, ZeroShotDataset, open_dataset
from unseen.classes import ClassHoldout

METHODS = (GaussianMatch, ESZSL)
# How many splits; which values mean that a class has an attribute, given all values.
DATA: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "AWA35": (10, lambda V: V.mean(axis=0) < V),
    "CUB efflite0": (5, lambda V: 0.4 * V.max() <= V),
}


def sentences(table: ClassTable, has: np.ndarray) -> dict[str, str]:
    """A list of attributes for each class: "has_wing_color::brown" is "brown wing color"."""
    words = [
        " ".join(reversed(name.removeprefix("has_").replace("_", " ").split("::")))
        for name in table.attributes or ()
    ]
    return {
        name: ", ".join(word for word, is_there in zip(words, row, strict=True) if is_there)
        for name, row in zip(table.names.tolist(), has, strict=True)
    }


def tables(
    data: ZeroShotDataset, has: Callable[[np.ndarray], np.ndarray], encoder: str | None
) -> dict[str, Callable[[np.ndarray], ClassTable]]:
    """Descriptions by name; each is learned from the classes it is given."""
    table = data.classes.select(data.seen)
    texts = sentences(table, has(table.vectors))
    both = {
        name: dict(zip(table.attributes or (), map(float, row), strict=True)) | {"in words": text}
        for (name, text), row in zip(texts.items(), table.vectors, strict=True)
    }
    found: dict[str, Callable[[np.ndarray], ClassTable]] = {
        "attributes": lambda kept: table,
        "TF-IDF": lambda kept: ClassTable.from_text(texts, seen=kept),
        "attributes and TF-IDF": lambda kept: ClassTable.of(both, kept),
    }
    if encoder is not None:
        fixed = ClassTable.from_text(texts, encoder=encoder)
        found["sentence encoder"] = lambda kept: fixed
    return found


def main(encoder: str | None) -> None:
    warnings.simplefilter("ignore")
    print("data, description: " + ", ".join(kind.__name__ for kind in METHODS))
    for name, (n_splits, has) in DATA.items():
        data = open_dataset(name)
        X, y = data.training_set()
        splits = list(ClassHoldout(0.2, n_splits, 0).split(X, y))
        for what, make in tables(data, has, encoder).items():
            found = []
            for kind in METHODS:
                scores = []
                for train, test in splits:
                    model = kind().fit(X[train], y[train], classes=make(np.unique(y[train])))
                    scores.append(100 * model.score(X[test], y[test], np.unique(y[test])))
                error = np.std(scores, ddof=1) / np.sqrt(n_splits)
                found.append(f"{np.mean(scores):.1f} ± {error:.1f}")
            print(f"{name}, {what}: {', '.join(found)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
