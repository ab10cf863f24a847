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
from unseen.apps.report.pictures import RowPictures
from unseen.apps.report.publish import Shown, publish, write
from unseen.datasets import ZeroShotDataset, digit_splits, load_digits_zero_shot
from unseen.datasets.digits import DIGITS, draw_segments
from unseen.errors import require
from unseen.estimators import METHODS, ZeroShotClassifier
from unseen.evaluation.protocols import ClassResult, Evaluation, evaluate

_TOP = 5
percent = html.percent
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


@dataclass(frozen=True)
class DemoResult:
    """Everything the demonstration found; `hits` are right images among the first five."""

    data: ZeroShotDataset
    models: dict[str, ZeroShotClassifier]
    rows: tuple[DemoRow, ...]
    hits: dict[str, int]

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
    models, rows = {}, []
    for name in SHOWN:
        kind = METHODS[name]
        start = time.perf_counter()
        models[name] = _fitted(kind, data)
        result = evaluate(models[name], data)
        seconds = time.perf_counter() - start
        scores = [_accuracy(kind, data.with_unseen(unseen)) for unseen in SPLITS]
        mean, deviation = float(np.mean(scores)), float(np.std(scores))
        rows.append(DemoRow(name, result, mean, deviation, seconds))
    best = max(rows, key=lambda row: row.mean_over_splits).method
    hits = {
        name: sum(right for _, right in found)
        for name, found in _retrieved(models[best], data).items()
    }
    return DemoResult(data, models, tuple(rows), hits)


def _fitted(kind: type[ZeroShotClassifier], data: ZeroShotDataset) -> ZeroShotClassifier:
    X, y = data.training_set()
    return kind().fit(X, y, classes=data.classes)


def _accuracy(kind: type[ZeroShotClassifier], data: ZeroShotDataset) -> float:
    return _fitted(kind, data).score(*data.unseen_set())


def _retrieved(
    model: ZeroShotClassifier, data: ZeroShotDataset
) -> dict[str, list[tuple[int, bool]]]:
    """For each unseen digit the first five rows of its ranking, and whether each is right."""
    X, y = data.unseen_set()
    found = {}
    for name in _by_number(data.unseen.tolist()):
        rows = model.rank(name, X, k=_TOP).rows
        found[name] = [(int(data.unseen_rows[r]), bool(y[r] == name)) for r in rows]
    return found


def write_demo(result: DemoResult, folder: Path) -> Path:
    """Write the page, which holds all it shows, and the gallery once more as a picture."""
    folder = Path(folder)
    text = html.page("unseen: digits nobody trained on", _body(result, folder))
    write(folder / "index.html", text.encode())
    write(folder / "retrieval.png", png(_picture(result), 110))
    return folder / "index.html"


def _picture(result: DemoResult) -> Any:
    data = result.data
    assert data.images is not None
    strips = []
    for name, found in _retrieved(result.models[result.best.method], data).items():
        images = [data.images[row] for row, _ in found]
        lit = draw_segments(data.classes.vector(name))
        strips.append(Strip(name, lit, images, [right for _, right in found]))
    return gallery_figure(strips, "Digits that no training image shows")


def _body(result: DemoResult, folder: Path) -> str:
    data, best = result.data, result.best
    *others, last = result.unseen
    never = f"{', '.join(others)} or {last}"
    seen = ", ".join(_by_number(data.seen.tolist()))
    return "\n".join(
        [
            html.paragraph(
                f"A model was trained on {data.train_rows.size:,} handwritten images of seven "
                f"digits ({seen}). It has never seen an image of {never}. "
                "All it knows of them is which segments of a seven-segment display they light."
            ),
            html.section("What the model knows of each digit", _description_table(result)),
            html.section(
                "Recognition", _recognition_table(result), html.paragraph(_caveat(), True)
            ),
            html.section(
                f"Retrieval with {best.method}",
                html.paragraph(
                    f"The description of a digit goes in, the {_TOP} images that fit it best come "
                    "out."
                ),
                _gallery(result),
                html.paragraph(
                    "A red frame and a cross mark a false return: an image of another digit.", True
                ),
                html.table(
                    ["digit", "images", "average precision", f"right among the first {_TOP}"],
                    [
                        [c.name, c.rows, percent(c.average_precision), result.hits[c.name]]
                        for c in result.by_class
                    ],
                ),
                _curves(result, folder),
            ),
            html.section(
                "Repeat it",
                html.paragraph(f"With unseen {__version__}:"),
                html.code("unseen demo --out FOLDER"),
            ),
        ]
    )


def _caveat() -> str:
    return (
        "Per-class top-1: the mean over the unseen digits of the share of their images that are "
        "named right. Seven classes are very few to learn from, and some digits differ in a single "
        "segment, so results vary much between choices of the three unseen digits: the mean "
        f"of {len(SPLITS)} such splits is the honest summary."
    )


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
    rows = [
        [
            row.method,
            percent(row.evaluation.per_class_accuracy),
            percent(row.evaluation.mean_average_precision),
            f"{percent(row.mean_over_splits)} ± {percent(row.deviation_over_splits)}",
            f"{row.seconds:.2f}",
        ]
        for row in result.rows
    ]
    chance = percent(result.best.evaluation.chance)
    rows.append(["chance", chance, "-", chance, "-"])
    columns = [
        "method",
        "per-class top-1",
        "mAP",
        f"top-1, mean of {len(SPLITS)} splits",
        "seconds",
    ]
    return html.table(columns, rows)


def _gallery(result: DemoResult) -> str:
    data, images = result.data, RowPictures(result.data)
    strips = [
        (name, [(images.uri(row), right, f"image {row}: a {data.y[row]}") for row, right in found])
        for name, found in _retrieved(result.models[result.best.method], data).items()
    ]
    return html.gallery(strips, images.tiny)


def _curves(result: DemoResult, folder: Path) -> str:
    X, y = result.data.unseen_set()
    model = result.models[result.best.method]
    scores = model.similarities(X, result.unseen)
    curves = {
        name: metrics.precision_recall_curve(y == name, scores[:, k])
        for k, name in enumerate(result.unseen)
    }
    precision = {c.name: c.average_precision for c in result.best.evaluation.by_class}
    shown = Shown(
        "precision-recall", "precision against recall for each unseen digit", "",
        lambda look: precision_recall_figure(curves, precision, look),
    )  # fmt: skip
    return publish(shown, folder / "figures")
