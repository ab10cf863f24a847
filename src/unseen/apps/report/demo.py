"""The demonstration: digits that no training row shows, recognised by their segments."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen import __version__
from unseen.apps.report import figures
from unseen.apps.report import page as html
from unseen.apps.report.measure import Measurements, measure
from unseen.apps.report.model_page import retrieval
from unseen.apps.report.page import Table, percent
from unseen.apps.report.publish import publish, write_page
from unseen.apps.report.results import class_table
from unseen.datasets import ZeroShotDataset, digit_splits, load_digits_zero_shot
from unseen.datasets.embedded import draw_segments
from unseen.errors import require
from unseen.estimators import method
from unseen.evaluation.protocols import Evaluation, evaluate

_TOP = 5
SHOWN = ("gaussian-match", "kernel-jlse", "jlse", "eszsl", "ale", "sae", "conse", "dap")
# Every twentieth of the 120 ways to choose three digits, so that slow methods take part too.
SPLITS = digit_splits()[::20]


@dataclass(frozen=True)
class DemoRow:
    """One method on the fixed split, and its mean over those of `SPLITS`."""

    method: str
    evaluation: Evaluation
    mean_over_splits: float
    deviation_over_splits: float
    seconds: float


@dataclass(frozen=True)
class DemoResult:
    """Everything the demonstration found; `found` is of the method that is best on average."""

    rows: tuple[DemoRow, ...]
    found: Measurements

    @property
    def hits(self) -> dict[str, int]:
        """Right images among the first five of each unseen digit."""
        returned = self.found.retrieved(_TOP)
        return {name: sum(r.right for r in rows) for name, rows in returned.items()}

    def recognition(self) -> Table:
        mean = f"mean of {len(SPLITS)} splits"
        columns = ["method", "per-class top-1", "chance", "mAP", mean, "seconds"]
        rows = []
        for row in self.rows:
            found = row.evaluation
            shares = found.per_class_accuracy, found.chance, found.mean_average_precision
            over_splits = f"{percent(row.mean_over_splits)} ± {percent(row.deviation_over_splits)}"
            rows.append([row.method, *map(percent, shares), over_splits, f"{row.seconds:.2f}"])
        names = ", ".join(self.found.names)
        return Table(f"Recognition of digits never seen in training ({names})", columns, rows)

    def retrieval(self) -> Table:
        main = self.found.main
        table = class_table({main.label: main.evaluation}, {})
        return table._replace(title=f"{main.label}, best on average, by class")

    def as_dict(self) -> dict[str, Any]:
        return {
            "unseen": self.found.names.tolist(),
            "methods": [asdict(row) for row in self.rows],
            "hits among the first five": self.hits,
        }


def run_demo() -> DemoResult:
    """Train methods on seven digits and test them on the other three; then on `SPLITS`."""
    require("matplotlib", "report", "the page of the demonstration")
    data = load_digits_zero_shot()
    others = [data.with_unseen(unseen) for unseen in SPLITS]
    models, rows = {}, []
    for name in SHOWN:
        start = time.perf_counter()
        models[name] = method(name)().fit(*data.training_set(), data.classes)
        result = evaluate(models[name], data)
        seconds = time.perf_counter() - start
        fits = (method(name)().fit(*other.training_set(), data.classes) for other in others)
        scores = [m.score(*o.unseen_set()) for m, o in zip(fits, others, strict=True)]
        rows.append(DemoRow(name, result, float(np.mean(scores)), float(np.std(scores)), seconds))
    best = max(rows, key=lambda row: row.mean_over_splits).method
    return DemoResult(tuple(rows), measure({best: models[best]}, data, tsne_rows=0))


def write_demo(result: DemoResult, out: Path) -> Path:
    """Write the page, which holds all it shows, and its figures as files."""
    folder = out / "figures"
    found, data = result.found, result.found.data
    *others, last = found.names
    says = (
        f"A model was trained on {data.train_rows.size:,} handwritten images of seven digits "
        f"({', '.join(data.seen)}). It has never seen an image of {', '.join(others)} or {last}. "
        "All it knows of them is which segments of a seven-segment display they light."
    )
    caveat = (
        "Per-class top-1: the mean over the unseen digits of the share of their images that are "
        "named right. Seven classes are very few to learn from, and some digits differ in a single "
        "segment, so results vary a lot between choices of the three unseen digits: the mean "
        f"of {len(SPLITS)} such splits is the honest summary."
    )
    lit = {name: draw_segments(data.classes.vector(name)) for name in found.names.tolist()}
    parts = [
        html.paragraph(says),
        html.section("What the model knows of each digit", _description_table(data)),
        result.recognition()._replace(notes=[caveat]).html(),
        html.section("Retrieval", retrieval(found, _TOP, folder, lit)),
        result.retrieval().html(),
        publish(figures.precision_recall(found), folder),
        html.section("Repeat it", html.paragraph(f"With unseen {__version__}:")),
        html.code("unseen demo --out FOLDER"),
    ]
    return write_page(out / "index.html", "unseen: digits nobody trained on", "\n".join(parts))


def _description_table(data: ZeroShotDataset) -> str:
    table = data.classes
    segments = [a.removesuffix(" on") for a in table.attributes or () if a.endswith(" on")]
    rows = []
    for name, vector in zip(table.names.tolist(), table.vectors, strict=True):
        marked = f"{name} (unseen)" if name in data.unseen else name
        rows.append([marked, *("on" if bit else "-" for bit in vector[: len(segments)])])
    return html.table(["digit", *segments], rows)
