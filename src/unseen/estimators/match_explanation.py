"""Why `GaussianMatch` scores a row as it does with a class, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from unseen.classes import ClassTable
from unseen.estimators.explanation import AttributeSupport, Table, attribute_table, largest
from unseen.model.gaussian import ClassTerms, Posterior

_STEP = 1e-4


@dataclass(frozen=True)
class Evidence:
    """What speaks for a class or against it: a seen class, or a direction between two."""

    through: str
    contribution: float


@dataclass(frozen=True)
class MatchExplanation:
    """The score of one row with one class, taken apart.

    `score` is what `similarities` gives, the logarithm of how much likelier the row is of this
    class than of any; `probability` that of a match if one pair in two matches and the model is
    right, which it never is in full: what `calibrate_seen` learned tempers it.
    `similarity` is z'μ, by which a row is nearer to this class than to others; `directions` are its
    parts, each named by the seen classes at its ends. `classes` are seen classes that the row looks
    like and whose descriptions are alike: z'T_c weighed by the kernel. `attributes` are those that
    the row calls for (positive) or speaks against: the slope of z'μ along the attribute, times what
    the class has above the average seen class.
    """

    name: str
    score: float
    probability: float
    similarity: float
    classes: tuple[Evidence, ...]
    directions: tuple[Evidence, ...]
    attributes: tuple[AttributeSupport, ...]

    def tables(self) -> list[Table]:
        """All of it as tables: the score first, then reasons."""
        columns = ["with class", "score", "probability of a match", "along the mean of the class"]
        numbers = [f"{self.score:.3f}", f"{self.probability:.3f}", f"{self.similarity:+.3f}"]
        by_class = [[e.through, f"{e.contribution:+.3f}"] for e in self.classes]
        by_direction = [[e.through, f"{e.contribution:+.3f}"] for e in self.directions]
        return [
            ("Score", columns, [[self.name, *numbers]]),
            attribute_table(self.attributes),
            ("Known classes that both are like", ["seen class", "adds"], by_class),
            ("Strongest directions", ["the row looks like", "adds"], by_direction),
        ]

    def __str__(self) -> str:
        parts = {
            "seen classes that both are like": [(e.contribution, e.through) for e in self.classes],
            "along directions": [(e.contribution, e.through) for e in self.directions],
            "attributes for and against": [
                (a.support, f"{'more' if a.is_above else 'less'} {a.attribute}")
                for a in self.attributes
            ],
        }
        lines = [
            f"{self.name}: score {self.score:.3f}, a match with probability {self.probability:.3f}",
            f"  {self.similarity:+8.3f}  the row along the mean of the class",
        ]
        for title, entries in parts.items():
            lines += ["", title, *(f"  {value:+8.3f}  {words}" for value, words in entries)]
        return "\n".join(lines)

    __repr__ = __str__


def explain_match(
    name: str,
    score: float,
    z: np.ndarray,
    terms: ClassTerms,
    model: Posterior,
    scaling: Callable[[np.ndarray], np.ndarray],
    vector: np.ndarray,
    seen: ClassTable,
    top: int,
    temperature: float,
) -> MatchExplanation:
    """z'μ(s) = Σ_d z_d μ_d(s) with its largest terms named, and what stands behind it."""
    mean = terms.mean[0]
    names = [str(name) for name in seen.names.tolist()]
    by_direction = z * mean
    ends = np.argsort(model.means, axis=0)
    alike = model.kernel(scaling(vector[None]))[0]
    by_class = alike / max(alike.sum(), 1e-300) * (model.means @ z)
    support = _slopes(model, scaling, vector, z) * (vector - seen.vectors.mean(axis=0))
    above = vector > seen.vectors.mean(axis=0)
    attributes = seen.attributes or [f"column {m}" for m in range(support.size)]
    return MatchExplanation(
        name=name,
        score=score,
        probability=float(expit(score / temperature)),
        similarity=float(by_direction.sum()),
        classes=tuple(Evidence(names[k], float(by_class[k])) for k in largest(by_class, top)),
        directions=tuple(
            Evidence(
                f"{names[ends[-1, d]]} rather than {names[ends[0, d]]}"
                if z[d] > 0
                else f"{names[ends[0, d]]} rather than {names[ends[-1, d]]}",
                float(by_direction[d]),
            )
            for d in largest(by_direction, top)
        ),
        attributes=tuple(
            AttributeSupport(attributes[m], bool(above[m]), float(support[m]))
            for m in largest(support, top)
        ),
    )


def _slopes(
    model: Posterior, scaling: Callable[[np.ndarray], np.ndarray], vector: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """The gradient of z'μ(s) along the columns of a description, by central differences."""
    steps = np.maximum(_STEP * np.abs(vector), _STEP * max(float(np.abs(vector).max()), 1e-12))
    changes = np.diag(steps)
    means = [model.predict(scaling(vector + sign * changes))[0] for sign in (1, -1)]
    return (means[0] - means[1]) @ z / (2.0 * steps)
