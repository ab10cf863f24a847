"""The demonstration: digits that no training row shows, recognised by their segments."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen import __version__, metrics
from unseen.apps.plots import Strip, gallery_figure, precision_recall_figure
from unseen.apps.plots.canvas import png
from unseen.apps.report import page as html
from unseen.apps.report.page import percent
from unseen.apps.report.pictures import RowPictures
from unseen.apps.report.publish import Shown, publish, write
from unseen.datasets import ZeroShotDataset, digit_splits, load_digits_zero_shot
from unseen.datasets.digits import DIGITS, draw_segments
from unseen.errors import require
from unseen.estimators import ZeroShotClassifier, method
from unseen.evaluation.protocols import ClassResult, Evaluation, evaluate

_TOP = 5
SHOWN = ("kernel-jlse", "jlse", "eszsl", "ale", "sae", "conse", "dap")
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

    @property
    def cells(self) -> list[str]:
        """Per-class top-1, mAP, the mean over the splits, and seconds, for a table."""
        return [
            percent(self.evaluation.per_class_accuracy),
            percent(self.evaluation.mean_average_precision),
            f"{percent(self.mean_over_splits)} ± {percent(self.deviation_over_splits)}",
            f"{self.seconds:.2f}",
        ]


@dataclass(frozen=True)
class DemoResult:
    """Everything the demonstration found."""

    data: ZeroShotDataset
    models: dict[str, ZeroShotClassifier]
    rows: tuple[DemoRow, ...]

    @property
    def unseen(self) -> list[str]:
        """The unseen digits in the order of their numbers."""
        return _by_number(self.data.unseen.tolist())

    @property
    def best(self) -> DemoRow:
        return max(self.rows, key=lambda row: row.mean_over_splits)

    @property
    def by_class(self) -> list[ClassResult]:
        """The retrieval of the best method, one unseen digit after the other."""
        found = {c.name: c for c in self.best.evaluation.by_class}
        return [found[name] for name in self.unseen]

    def returned(self) -> dict[str, list[tuple[int, bool]]]:
        """For each unseen digit the first five rows that the best method ranks, and whether each
        is right."""
        X, y = self.data.unseen_set()
        model, numbers, found = self.models[self.best.method], self.data.unseen_rows, {}
        for name in self.unseen:
            rows = model.rank(name, X, k=_TOP).rows
            found[name] = [(int(numbers[r]), bool(y[r] == name)) for r in rows]
        return found

    @property
    def hits(self) -> dict[str, int]:
        """Right images among the first five."""
        return {name: sum(right for _, right in rows) for name, rows in self.returned().items()}

    def retrieval(self) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows of a table of the retrieval by the best method."""
        hits = self.hits
        columns = ["digit", "images", "average precision", f"right among the first {_TOP}"]
        return columns, [
            [c.name, c.rows, percent(c.average_precision), hits[c.name]] for c in self.by_class
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "unseen": self.unseen,
            "methods": [asdict(row) for row in self.rows],
            "hits among the first five": self.hits,
        }


def _by_number(names: list[str]) -> list[str]:
    return sorted(names, key=DIGITS.index)


def run_demo() -> DemoResult:
    """Train methods on seven digits and test them on the other three; then on `SPLITS`."""
    require("matplotlib", "report", "the page of the demonstration")
    data = load_digits_zero_shot()
    others = [data.with_unseen(unseen) for unseen in SPLITS]
    models, rows = {}, []
    for name in SHOWN:
        start = time.perf_counter()
        models[name] = _fitted(name, data)
        result = evaluate(models[name], data)
        seconds = time.perf_counter() - start
        scores = [_fitted(name, other).score(*other.unseen_set()) for other in others]
        rows.append(DemoRow(name, result, float(np.mean(scores)), float(np.std(scores)), seconds))
    return DemoResult(data, models, tuple(rows))


def _fitted(name: str, data: ZeroShotDataset) -> ZeroShotClassifier:
    X, y = data.training_set()
    return method(name)().fit(X, y, classes=data.classes)


def write_demo(result: DemoResult, folder: Path) -> Path:
    """Write the page, which holds all it shows, and the gallery once more as a picture."""
    text = html.page("unseen: digits nobody trained on", _body(result, folder))
    write(folder / "index.html", text.encode())
    write(folder / "retrieval.png", png(_picture(result), 110))
    return folder / "index.html"


def _picture(result: DemoResult) -> Any:
    data = result.data
    assert data.images is not None
    strips = []
    for name, returned in result.returned().items():
        images = [data.images[row] for row, _ in returned]
        lit = draw_segments(data.classes.vector(name))
        strips.append(Strip(name, lit, images, [right for _, right in returned]))
    return gallery_figure(strips, "Digits that no training image shows")


def _body(result: DemoResult, folder: Path) -> str:
    data = result.data
    *others, last = result.unseen
    seen = ", ".join(_by_number(data.seen.tolist()))
    says = (
        f"A model was trained on {data.train_rows.size:,} handwritten images of seven digits "
        f"({seen}). It has never seen an image of {', '.join(others)} or {last}. All it knows of "
        "them is which segments of a seven-segment display they light."
    )
    caveat = (
        "Per-class top-1: the mean over the unseen digits of the share of their images that are "
        "named right. Seven classes are very few to learn from, and some digits differ in a single "
        "segment, so results vary a lot between choices of the three unseen digits: the mean "
        f"of {len(SPLITS)} such splits is the honest summary."
    )
    goes_in = f"The description of a digit goes in, the {_TOP} images that fit it best come out."
    false = "A red frame and a cross mark a false return: an image of another digit."
    retrieval = [
        html.paragraph(goes_in),
        _gallery(result),
        html.paragraph(false, note=True),
        html.table(*result.retrieval()),
        _curves(result, folder),
    ]
    repeat = html.paragraph(f"With unseen {__version__}:"), html.code("unseen demo --out FOLDER")
    parts = [
        html.paragraph(says),
        html.section("What the model knows of each digit", _description_table(result)),
        html.section("Recognition", _recognition_table(result), html.paragraph(caveat, note=True)),
        html.section(f"Retrieval with {result.best.method}", *retrieval),
        html.section("Repeat it", *repeat),
    ]
    return "\n".join(parts)


def _description_table(result: DemoResult) -> str:
    table = result.data.classes
    segments = [a.removesuffix(" on") for a in table.attributes or () if a.endswith(" on")]
    rows = []
    for name in table.names.tolist():
        mark = " (unseen)" if name in result.unseen else ""
        bits = table.vector(name)[: len(segments)]
        rows.append([name + mark, *("on" if bit else "-" for bit in bits)])
    return html.table(["digit", *segments], rows, numbers=False)


def _recognition_table(result: DemoResult) -> str:
    chance = percent(result.best.evaluation.chance)
    rows = [[row.method, *row.cells] for row in result.rows]
    mean = f"top-1, mean of {len(SPLITS)} splits"
    columns = ["method", "per-class top-1", "mAP", mean, "seconds"]
    return html.table(columns, [*rows, ["chance", chance, "-", chance, "-"]])


def _gallery(result: DemoResult) -> str:
    y, images = result.data.y, RowPictures(result.data)
    strips = [
        (name, [(images.uri(row), right, f"image {row}: a {y[row]}") for row, right in returned])
        for name, returned in result.returned().items()
    ]
    return html.gallery(strips, images.tiny)


def _curves(result: DemoResult, folder: Path) -> str:
    X, y = result.data.unseen_set()
    scores = result.models[result.best.method].similarities(X, result.unseen)
    curves = {
        name: metrics.precision_recall_curve(y == name, scores[:, k])
        for k, name in enumerate(result.unseen)
    }
    precision = {c.name: c.average_precision for c in result.by_class}
    best, alt = result.best.method, "precision against recall for each unseen digit"
    draw = lambda look: precision_recall_figure({best: curves}, {best: precision}, look)  # noqa: E731
    return publish(Shown("precision-recall", alt, "", draw), folder / "figures")
