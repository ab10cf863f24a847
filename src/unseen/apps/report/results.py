"""Tables of evaluations, as the command line and the pages show them."""

from __future__ import annotations

from collections.abc import Mapping

from unseen.apps.report.page import Table, percent
from unseen.errors import counted
from unseen.evaluation.protocols import Evaluation


def results_table(title: str, results: Mapping[str, Evaluation]) -> Table:
    """Measures down, methods across."""
    first = next(iter(results.values()))
    rows_of = f"{counted(first.rows, 'row')} of {counted(len(first.by_class), 'unseen class')}"
    columns = [_cells(result) for result in results.values()]
    rows = [[name, *(column.get(name, "-") for column in columns)] for name in columns[0]]
    return Table(f"{title}: {rows_of}", ["measure", *results], rows)


def _cells(result: Evaluation) -> dict[str, str]:
    shares = {
        "per-class top-1 accuracy": result.per_class_accuracy,
        "chance": result.chance,
        "per-image top-1 accuracy": result.per_image_accuracy,
        "retrieval mAP": result.mean_average_precision,
        "retrieval mAP, against the others": result.relative_mean_average_precision,
    }
    cells = {name: percent(share) for name, share in shares.items()}
    if (general := result.generalized) is not None:
        for side in ("seen", "unseen", "harmonic_mean"):
            cells[f"generalised: {side.replace('_', ' ')}"] = percent(getattr(general, side))
        cells["generalised: AUSUC"] = f"{general.ausuc:.3f}"
    return cells | {"seconds": f"{result.seconds:.3f}"}


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
