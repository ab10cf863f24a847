"""Why a method whose score is an inner product of codes scores a row as it does, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.classes import ClassTable
from unseen.estimators.explanation import AttributeSupport, Table, attribute_table, largest
from unseen.estimators.match_explanation import Evidence
from unseen.rows.blocks import row_blocks

if TYPE_CHECKING:
    from unseen.estimators.scoring import Scoring

_STEP = 1e-4


@dataclass(frozen=True)
class LinearExplanation:
    """The score r'c of one row with one class, taken apart.

    `classes`: the code c of the class is Σ_k a_k c_k of the seen classes, by least squares, and a
    rest; a seen class adds a_k r'c_k, and `rest` is what they all leave. `attributes` are those
    that the row calls for (positive) or speaks against: the slope of the score along the attribute,
    times what the class has above the average seen class; of all classes where none was trained on.
    """

    name: str
    score: float
    classes: tuple[Evidence, ...]
    rest: float
    attributes: tuple[AttributeSupport, ...]

    def tables(self) -> list[Table]:
        """All of it as tables: the score first, then reasons."""
        by_class = [[e.through, f"{e.contribution:+.3g}"] for e in self.classes]
        numbers = [f"{self.score:.4g}", f"{self.rest:+.3g}"]
        columns = ["with class", "score", "not through seen classes"]
        seen = ("Known classes that the evidence comes through", ["seen class", "adds"], by_class)
        return [
            ("Score", columns, [[self.name, *numbers]]),
            attribute_table(self.attributes),
            *[seen] * bool(by_class),
        ]

    def __str__(self) -> str:
        lines = [f"{self.name}: score {self.score:.4g}"]
        if self.classes:
            lines += ["", "through seen classes"]
            lines += [f"  {e.contribution:+9.3g}  {e.through}" for e in self.classes]
            lines += [f"  {self.rest:+9.3g}  not through seen classes"]
        lines += ["", "attributes for and against"]
        lines += [
            f"  {a.support:+9.3g}  {'more' if a.is_above else 'less'} {a.attribute}"
            for a in self.attributes
        ]
        return "\n".join(lines)

    __repr__ = __str__


def explain_linear(
    model: Scoring, row: np.ndarray, table: ClassTable, score: float, top: int
) -> LinearExplanation:
    """r'c = Σ_k a_k r'c_k + rest, with its largest terms named, and the slopes along attributes.

    `row` is a block of one row, `table` holds the class alone.
    """
    seen = model.seen_classes_
    known = model.class_table_.select(seen) if seen.size else model.class_table_
    code = model._row_codes(row)[0].astype(np.float64)
    own, others = (model._class_codes(t).astype(np.float64) for t in (table, known))
    others = others[: seen.size]
    shares = np.linalg.lstsq(others.T, own[0], rcond=None)[0]
    by_class = shares * (others @ code)
    vector, mean = table.vectors[0].astype(np.float64), known.vectors.mean(axis=0)
    support = _slopes(model, vector, code) * (vector - mean)
    names = known.attributes or [f"column {m}" for m in range(support.size)]
    return LinearExplanation(
        name=str(table.names[0]),
        score=score,
        classes=tuple(Evidence(str(seen[k]), float(by_class[k])) for k in largest(by_class, top)),
        rest=float(own[0] @ code - by_class.sum()),
        attributes=tuple(
            AttributeSupport(names[m], bool(vector[m] > mean[m]), float(support[m]))
            for m in largest(support, top)
        ),
    )


def _slopes(model: Any, vector: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The gradient of r'c along the columns of a description, by central differences."""
    steps = np.maximum(_STEP * np.abs(vector), _STEP * max(float(np.abs(vector).max()), 1e-12))
    slopes = np.empty_like(vector)
    for columns in row_blocks(vector.size, 2 * vector.nbytes):
        changes = np.zeros((len(steps[columns]), vector.size))
        changes[:, columns] = np.diag(steps[columns])
        tried = np.concatenate([vector + changes, vector - changes])
        table = ClassTable([f"changed {k}" for k in range(len(tried))], tried)
        up, down = np.split(model._class_codes(table).astype(np.float64) @ code, 2)
        slopes[columns] = (up - down) / (2 * steps[columns])
    return slopes
