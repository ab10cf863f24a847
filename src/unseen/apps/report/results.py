"""Tables of evaluations, as the command line and the pages show them."""

from __future__ import annotations

from collections.abc import Mapping

from unseen.apps.report.page import Table, percent
from unseen.errors import counted
from unseen.evaluation.protocols import Evaluation
from unseen.metrics.intervals import Interval

NO_BETTER = (
    "No better than chance: guessing names these classes as often. Check that the class table "
    "describes what the rows show, and that its names are those of the labels."
)


def results_table(title: str, results: Mapping[str, Evaluation]) -> Table:
    """Measures down, methods across."""
    first = next(iter(results.values()))
    rows_of = f"{counted(first.rows, 'row')} of {counted(len(first.by_class), 'unseen class')}"
    columns = [_cells(result) for result in results.values()]
    rows = [[name, *(column.get(name, "-") for column in columns)] for name in columns[0]]
    return Table(f"{title}: {rows_of}", ["measure", *results], rows, notes_on(results))


def _cells(result: Evaluation) -> dict[str, str]:
    of_class, of_image = result.per_class_interval, result.per_image_interval
    cells = {
        "per-class top-1 accuracy": within(result.per_class_accuracy, of_class),
        "chance": percent(result.chance),
        "per-image top-1 accuracy": within(result.per_image_accuracy, of_image),
        "retrieval mAP": percent(result.mean_average_precision),
        "retrieval mAP, against the others": percent(result.relative_mean_average_precision),
    }
    if (general := result.generalized) is not None:
        cells |= {
            "generalised: seen": within(general.seen, general.seen_interval),
            "generalised: unseen": within(general.unseen, general.unseen_interval),
            "generalised: harmonic mean": within(general.harmonic_mean, general.harmonic_interval),
            "generalised: AUSUC": f"{general.ausuc:.3f}",
        }
    return cells | {"seconds": f"{result.seconds:.3f}"}


def within(share: float, interval: Interval) -> str:
    """A share with its 95 % interval."""
    return f"{percent(share)} ({percent(interval.low)} to {percent(interval.high)})"


def notes_on(results: Mapping[str, Evaluation]) -> list[str]:
    """What a reader must know of the numbers."""
    notes = ["In brackets: 95 % intervals by a bootstrap over classes and their rows."]
    for label, result in results.items():
        before = f"{label}: " if len(results) > 1 else ""
        if len(result.by_class) > 1 and not result.beats_chance:
            notes.append(f"{before}{NO_BETTER}")
        if result.generalized is not None:
            notes.append(f"{before}{result.generalized.factor_in_words}")
    return notes


def class_table(results: Mapping[str, Evaluation], titles: Mapping[str, str]) -> Table:
    """Classes down, under `titles` where they have one; accuracy and precision across."""
    columns = ["class", "rows"]
    for label in results:
        columns += [f"top-1, {label}", f"AP, {label}"] if len(results) > 1 else ["top-1", "AP"]
    rows = []
    for of_class in zip(*(result.by_class for result in results.values()), strict=True):
        shares = [share for c in of_class for share in (c.accuracy, c.average_precision)]
        name = of_class[0].name
        rows.append([titles.get(name, name), of_class[0].rows, *map(percent, shares)])
    return Table("By class", columns, rows)
