"""What a report knows of models on a data set: scores, embeddings, and numbers drawn from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from unseen import metrics
from unseen.apps.plots import alike_order, cosine_similarities, tsne_points
from unseen.datasets import ZeroShotDataset
from unseen.estimators import ZeroShotClassifier
from unseen.evaluation.protocols import Evaluation, evaluate
from unseen.rows.store import chosen_rows

# More classes than a figure can show legibly.
_MOST_CLASSES = 60


class Measured(NamedTuple):
    """A model on the unseen classes: scores (rows x names) and codes of the rows (rows x h)."""

    label: str
    model: ZeroShotClassifier
    evaluation: Evaluation
    scores: np.ndarray
    codes: np.ndarray
    curve: metrics.SeenUnseenCurve | None


class Returned(NamedTuple):
    """A row that a class brought back: its number, its own class, and whether that is the class."""

    row: int
    title: str
    right: bool


@dataclass(frozen=True)
class Measurements:
    """Models on one data set.

    names : the unseen classes that have rows; y : labels of those rows.
    sample, points : the rows that t-SNE has placed, and where, for each model.
    """

    data: ZeroShotDataset
    names: np.ndarray
    y: np.ndarray
    methods: tuple[Measured, ...]
    sample: np.ndarray
    points: Mapping[str, np.ndarray]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Names of all classes as a person would write them."""
        return readable(self.data.classes.names.tolist())

    @property
    def main(self) -> Measured:
        return self.methods[0]

    @cached_property
    def shown(self) -> np.ndarray:
        """Numbers of the classes that figures show: all, or some from the best to the worst."""
        precision = np.array([c.average_precision for c in self.main.evaluation.by_class])
        if precision.size <= _MOST_CLASSES:
            return np.arange(precision.size)
        places = np.linspace(0, precision.size - 1, _MOST_CLASSES).round().astype(int)
        return np.sort(np.argsort(-precision, kind="stable")[places])

    @cached_property
    def order(self) -> np.ndarray:
        """The shown classes, those with like descriptions together."""
        vectors = self.data.classes.select(self.names[self.shown]).vectors
        return self.shown[alike_order(cosine_similarities(vectors))]

    def retrieved(self, top: int) -> dict[str, list[Returned]]:
        """For each shown class the rows that fit it best by the first model, best first."""
        found = {}
        for number in self.shown:
            best = np.argsort(-self.main.scores[:, number], kind="stable")[:top]
            rows, labels = self.data.unseen_rows[best].tolist(), self.y[best].tolist()
            name = self.names.tolist()[number]
            found[self.titles[name]] = [
                Returned(row, self.titles[label], label == name)
                for row, label in zip(rows, labels, strict=True)
            ]
        return found

    def confusions(self, most: int = 10) -> list[tuple[str, str, int, float]]:
        """The most frequent confusions of the first model: true, named, rows, share of rows."""
        named = self.names[self.main.scores.argmax(axis=1)]
        counts = metrics.confusion_matrix(self.y, named, self.names).values
        shares = counts / counts.sum(axis=1, keepdims=True)
        np.fill_diagonal(shares, 0)
        best = np.argsort(-shares, axis=None, kind="stable")[:most]
        return [
            (str(self.names[a]), str(self.names[b]), int(counts[a, b]), float(shares[a, b]))
            for a, b in zip(*np.unravel_index(best, shares.shape), strict=True)
            if shares[a, b] > 0
        ]


def measure(
    models: Mapping[str, ZeroShotClassifier],
    data: ZeroShotDataset,
    tsne_rows: int = 1500,
    progress: Callable[[str], None] = lambda what: None,
) -> Measurements:
    """Test models, by their labels, on the unseen classes of a data set, and all that figures need.

    t-SNE takes `tsne_rows` rows at most, drawn evenly from the classes; 0 leaves it out.
    """
    X, y = data.unseen_set()
    names = np.unique(y)
    methods = []
    for label, model in models.items():
        progress(f"testing {label}")
        result = evaluate(model, data)
        scores, codes = model.similarities(X, data.classes.select(names)), model.transform(X)
        curve = None if result.generalized is None else _curve(model, data, names)
        methods.append(Measured(label, model, result, scores, codes, curve))
    sample = _sample(y, tsne_rows)
    points = {}
    if sample.size >= 4 and tsne_rows:
        for method in methods:
            progress(f"t-SNE of {sample.size:,} rows, {method.label}")
            points[method.label] = tsne_points(method.codes[sample])
    return Measurements(data, names, y, tuple(methods), sample, points)


def _curve(
    model: ZeroShotClassifier, data: ZeroShotDataset, names: np.ndarray
) -> metrics.SeenUnseenCurve:
    rows = np.concatenate([data.seen_test_rows, data.unseen_rows])
    table = data.classes.select(np.concatenate([model.seen_classes_, names]))
    scores = model.similarities(chosen_rows(data.X, rows), table)
    return metrics.seen_unseen_curve(data.y[rows], scores, table.names, model.seen_classes_)


def _sample(y: np.ndarray, most: int) -> np.ndarray:
    """Up to `most` rows, about as many of each class, always the same ones."""
    if y.size <= most:
        return np.arange(y.size)
    rng = np.random.default_rng(0)
    groups = [rng.permutation(np.flatnonzero(y == name)) for name in np.unique(y)]
    in_turn = [row for rows in zip_longest(*groups) for row in rows if row is not None]
    return np.sort(in_turn[:most])


def readable(names: Sequence[str]) -> dict[str, str]:
    """Names without numbers and underscores where they stay different: "001.Tree_Swallow"."""
    tidy = {n: re.sub(r"[_+\s]+", " ", re.sub(r"^\d+[._-]+(?=\D)", "", n)).strip() for n in names}
    different = len({t.casefold() for t in tidy.values()}) == len(names) and all(tidy.values())
    return tidy if different else {n: n for n in names}


def labels_of(models: Mapping[str, ZeroShotClassifier]) -> dict[str, str]:
    """A label for the model of each file: its method, with the file where two are alike."""
    kinds = [type(model).__name__ for model in models.values()]
    return {
        file: kind if kinds.count(kind) == 1 else f"{kind} {k} ({file})"
        for k, (kind, file) in enumerate(zip(kinds, models, strict=True), start=1)
    }
