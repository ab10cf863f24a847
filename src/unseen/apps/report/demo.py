"""The demonstration: drawn things that no training picture shows, found by three words."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen import __version__
from unseen.apps.report import figures
from unseen.apps.report import page as html
from unseen.apps.report.measure import Measurements, measure
from unseen.apps.report.page import Table, percent
from unseen.apps.report.publish import publish, write_page
from unseen.apps.report.results import class_table
from unseen.datasets import ZeroShotDataset, make_shapes, shape_splits
from unseen.datasets.shapes import FILLINGS, INKS, SHAPES, draw_shape
from unseen.errors import require
from unseen.estimators import method
from unseen.evaluation.protocols import evaluate
from unseen.support.work import tell

_TOP = 5
# Methods that need a second or less for a split; the pictures are of the first one.
SHOWN = ("gaussian-match", "kernel-jlse", "jlse", "eszsl", "ale", "dap", "sae")
SPLITS = shape_splits()


@dataclass(frozen=True)
class DemoRow:
    """One method: its measures on each split, and the seconds that a split usually takes."""

    method: str
    accuracies: tuple[float, ...]
    precisions: tuple[float, ...]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        accuracy, of_accuracy = _mean(self.accuracies)
        precision, of_precision = _mean(self.precisions)
        return {
            "method": self.method,
            "per_class_accuracy": accuracy,
            "standard_error_of_accuracy": of_accuracy,
            "mean_average_precision": precision,
            "standard_error_of_precision": of_precision,
            "seconds_per_split": self.seconds,
        }


@dataclass(frozen=True)
class DemoResult:
    """Everything the demonstration found; `found` is of the first method on the first split."""

    rows: tuple[DemoRow, ...]
    found: Measurements

    @property
    def hits(self) -> dict[str, int]:
        """Right pictures among the first five of each unseen class."""
        returned = self.found.retrieved(_TOP)
        return {name: sum(r.right for r in rows) for name, rows in returned.items()}

    def recognition(self) -> Table:
        """All methods, the most accurate first."""
        columns = ["method", "per-class top-1", "mAP", "seconds per split"]
        rows = [
            [row.method, *map(_with_error, (row.accuracies, row.precisions)), f"{row.seconds:.2f}"]
            for row in sorted(self.rows, key=lambda row: -np.mean(row.accuracies))
        ]
        n_splits, n_unseen = len(self.rows[0].accuracies), self.found.names.size
        title = (
            f"{n_unseen} classes never seen in training: means of {n_splits} splits "
            "± standard error"
        )
        chance = percent(self.found.main.evaluation.chance)
        return Table(title, columns, rows, [f"Guessing is right for {chance} of the pictures."])

    def by_class(self) -> Table:
        main = self.found.main
        table = class_table({main.label: main.evaluation}, {})
        return table._replace(title=f"{main.label} by class, first split")

    def as_dict(self) -> dict[str, Any]:
        return {
            "unseen": self.found.names.tolist(),
            "methods": [row.as_dict() for row in self.rows],
            "hits among the first five": self.hits,
        }


def run_demo() -> DemoResult:
    """Train and test methods on all of `SPLITS`, then look at the first method on the first."""
    require("matplotlib", "report", "the page of the demonstration")
    tell("drawing pictures")
    data = make_shapes()
    splits = [data.with_unseen(unseen) for unseen in SPLITS]
    rows = tuple(_measured(name, splits) for name in SHOWN)
    model = method(SHOWN[0])().fit(*splits[0].training_set(), data.classes)
    return DemoResult(rows, measure({SHOWN[0]: model}, splits[0], tsne_rows=0))


def _measured(name: str, splits: list[ZeroShotDataset]) -> DemoRow:
    results, seconds = [], []
    for k, split in enumerate(splits, start=1):
        tell(f"{name}, split {k} of {len(splits)}")
        start = time.perf_counter()
        results.append(evaluate(method(name)().fit(*split.training_set(), split.classes), split))
        seconds.append(time.perf_counter() - start)
    return DemoRow(
        name,
        tuple(result.per_class_accuracy for result in results),
        tuple(result.mean_average_precision for result in results),
        float(np.median(seconds)),
    )


def _mean(values: tuple[float, ...]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _with_error(values: tuple[float, ...]) -> str:
    return " ± ".join(map(percent, _mean(values)))


def write_demo(result: DemoResult, out: Path) -> Path:
    """Write the page, which holds all it shows, and its figures as files."""
    folder = out / "figures"
    found, data = result.found, result.found.data
    says = (
        f"A model was trained on {data.train_rows.size:,} small pictures of {data.seen.size} "
        f"classes, such as {data.seen[0]}. Below are the other {data.unseen.size}: no picture of "
        "them was trained on. All the model knows of them is three words each, and all it knows "
        "of these words is the pictures of other classes that they describe."
    )
    how = (
        f"{found.main.label}: three words go in, and of all {found.y.size} pictures of unseen "
        f"classes the {_TOP} that fit best come out, best first. The drawing beside the words is "
        "for you; the model has not seen it. This is the first split, on which "
        f"{percent(found.main.evaluation.per_class_accuracy)} of the pictures are named right; "
        f"over all splits it is {percent(_mean(result.rows[0].accuracies)[0])}."
    )
    ideal = {found.titles[name]: draw_shape(name) for name in found.names.tolist()}
    parts = [
        html.paragraph(says),
        html.section("Pictures found by their description", html.paragraph(how)),
        publish(figures.gallery(found, _TOP, ideal, side=0.68), folder),
        result.recognition()._replace(notes=_notes(result)).html(),
        html.section("What is taken for what", publish(figures.confusion(found), folder)),
        result.by_class().html(),
        html.section("The data", *map(html.paragraph, _about(data))),
        html.section("Repeat it", html.paragraph(f"With unseen {__version__}:")),
        html.code(f"unseen demo --out FOLDER\nunseen fit {data.name} --out model.unseen"),
    ]
    return write_page(out / "index.html", "unseen: things nobody trained on", "\n".join(parts))


def _notes(result: DemoResult) -> list[str]:
    chance = percent(result.found.main.evaluation.chance)
    return [
        "Per-class top-1: the mean over the unseen classes of the share of their pictures that are "
        f"named right; guessing gives {chance}. mAP: how far ahead the pictures of a class stand "
        "when all are ranked by its description. All methods have their default parameters.",
        f"{SHOWN[0]} is what 'unseen fit' takes unless told otherwise. In these drawings colour, "
        "filling and shape are independent of each other, which is what dap assumes. Words for "
        "photographs are not, so take figures on photographs to choose a method.",
    ]


def _about(data: ZeroShotDataset) -> list[str]:
    words = [", ".join(group) for group in (INKS, FILLINGS, SHAPES)]
    return [
        f"The {data.classes.n_classes} classes are all combinations of a colour ({words[0]}), a "
        f"filling ({words[1]}) and a shape ({words[2]}). Each picture is drawn by chance: place, "
        "size, slant and shade of the shape, the ground, three spots of any colour, and noise. "
        f"The {data.X.shape[1]} features are histograms of edges and of colours; nothing in them "
        "is learned.",
        f"There are {len(SPLITS)} splits: every class is unseen in a fifth of them.",
    ]
