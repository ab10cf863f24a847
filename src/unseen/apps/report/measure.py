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

Progress = Callable[[str], None]
# More classes than a figure can show legibly.
_MOST_CLASSES = 60


@dataclass(frozen=True)
class Subject:
    """A fitted model, the name it has in the report, and the file it came from, if any."""

    label: str
    model: ZeroShotClassifier
    file: str = ""


@dataclass(frozen=True)
class Measured:
    """A model on the unseen classes: scores (rows x names) and codes of the rows (rows x h)."""

    subject: Subject
    evaluation: Evaluation
    scores: np.ndarray
    codes: np.ndarray
    curve: metrics.SeenUnseenCurve | None

    @property
    def label(self) -> str:
        return self.subject.label


class Returned(NamedTuple):
    """A row that a class brought back: its number, the class that it is of, and whether rightly."""

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
            best = np.argsort(-self.main.scores[:, number], kind="stable")[:top].tolist()
            name = str(self.names[number])
            found[self.titles[name]] = [
                Returned(
                    int(self.data.unseen_rows[k]),
                    self.titles[str(self.y[k])],
                    bool(self.y[k] == name),
                )
                for k in best
            ]
        return found

    def similarities(self) -> dict[str, np.ndarray]:
        """Cosines between the shown classes: of descriptions, of mean codes of rows."""
        vectors = self.data.classes.select(self.names[self.order]).vectors
        found = {"class table": cosine_similarities(vectors)}
        for method in self.methods:
            means = [method.codes[self.y == name].mean(axis=0) for name in self.names[self.order]]
            found[f"{method.label}: rows"] = cosine_similarities(np.array(means))
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
    subjects: Sequence[Subject],
    data: ZeroShotDataset,
    tsne_rows: int = 1500,
    progress: Progress = lambda what: None,
) -> Measurements:
    """Test models on the unseen classes of a data set, and all that figures need.

    t-SNE takes `tsne_rows` rows at most, drawn evenly from the classes; 0 leaves it out.
    """
    X, y = data.unseen_set()
    names = np.unique(y)
    methods = []
    for subject in subjects:
        progress(f"testing {subject.label}")
        methods.append(_measured(subject, data, X, names))
    sample = _sample(y, tsne_rows)
    points = {}
    if sample.size >= 4 and tsne_rows:
        for method in methods:
            progress(f"t-SNE of {sample.size:,} rows, {method.label}")
            points[method.label] = tsne_points(method.codes[sample])
    return Measurements(data, names, y, tuple(methods), sample, points)


def _measured(
    subject: Subject, data: ZeroShotDataset, X: np.ndarray, names: np.ndarray
) -> Measured:
    model, table = subject.model, data.classes.select(names)
    evaluation = evaluate(model, data)
    return Measured(
        subject,
        evaluation,
        model.similarities(X, table),
        model.transform(X),
        None if evaluation.generalized is None else _curve(model, data, names),
    )


def _curve(
    model: ZeroShotClassifier, data: ZeroShotDataset, names: np.ndarray
) -> metrics.SeenUnseenCurve:
    rows = np.concatenate([data.seen_test_rows, data.unseen_rows])
    table = data.classes.select(np.concatenate([model.seen_classes_, names]))
    scores = model.similarities(data.X[rows], table)
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


def subjects_of(models: Sequence[tuple[str, ZeroShotClassifier]]) -> list[Subject]:
    """Models with their files under the names of their methods, with the file if two are alike."""
    kinds = [type(model).__name__ for _, model in models]
    return [
        Subject(kind if kinds.count(kind) == 1 else f"{kind} {k} ({file})", model, file)
        for k, (kind, (file, model)) in enumerate(zip(kinds, models, strict=True), start=1)
    ]
