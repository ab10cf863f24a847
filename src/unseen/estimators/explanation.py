"""Why a row scores as it does with a class: the links of the latent spaces, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.classes import ClassTable
from unseen.inference.scorer import decision_scores
from unseen.model.latent import LatentModel

Codes = tuple[np.ndarray, np.ndarray]

# Title, columns and lines.
Table = tuple[str, list[str], list[list[str]]]


@dataclass(frozen=True)
class Link:
    """One term z_s[k] W[k, l] z_t[l] of the score: a source atom, a target atom, what they add."""

    source_atom: str
    target_atom: int
    contribution: float


@dataclass(frozen=True)
class AtomSum:
    """The terms of one source atom, summed over all target atoms."""

    source_atom: str
    contribution: float


@dataclass(frozen=True)
class AttributeSupport:
    """How far the row calls for an attribute, times how much of it the class has.

    `is_above` tells whether the class has more of the attribute than the seen classes on average;
    that a row calls for less of what a class has little of speaks for the class, too.
    """

    attribute: str
    is_above: bool
    support: float


def attribute_table(attributes: Sequence[AttributeSupport]) -> Table:
    """Attributes with what the class has of them and how far that speaks for it."""
    lines = [
        [a.attribute, f"{'more' if a.is_above else 'less'} than most", f"{a.support:+.3f}"]
        for a in attributes
    ]
    title = "Attributes that speak for it (+) and against it (-)"
    return title, ["attribute", "the class has", "support"], lines


@dataclass(frozen=True)
class Explanation:
    """The similarity z_s' W z_t + b of one row with one class, taken apart.

    `score` is what `similarities` gives: `match`, the log p_W of a match at this similarity, and
    what belongs to the class as a whole, the fit of its description or an offset.

    `links` are the strongest single terms; `atoms` the terms summed over target atoms, which say
    which known classes the evidence comes through; `attributes` the attributes that speak for
    (positive) and against (negative) the class.
    """

    name: str
    score: float
    similarity: float
    bias: float
    match: float
    atoms: tuple[AtomSum, ...]
    links: tuple[Link, ...]
    attributes: tuple[AttributeSupport, ...]

    def tables(self) -> list[Table]:
        """All of it as tables: the score first, then reasons."""
        columns = ["with class", "similarity", "score"]
        columns += ["for the similarity", "for the class as a whole"]
        parts = [f"{self.match:+.3f}", f"{self.score - self.match:+.3f}"]
        atoms = [[a.source_atom, f"{a.contribution:+.3f}"] for a in self.atoms]
        links = [[a.source_atom, str(a.target_atom), f"{a.contribution:+.3f}"] for a in self.links]
        return [
            (
                "Score",
                columns,
                [[self.name, f"{self.similarity:.3f}", f"{self.score:.3f}", *parts]],
            ),
            attribute_table(self.attributes),
            ("Known classes that the evidence comes through", ["source atom", "adds"], atoms),
            ("Strongest latent links", ["source atom", "target atom", "adds"], links),
        ]

    def __str__(self) -> str:
        bias = f", of it the bias {self.bias:.3f}" if self.bias else ""
        lines = [
            f"{self.name}: score {self.score:.3f}",
            f"  {self.match:+8.3f}  for the similarity, which is {self.similarity:.3f}{bias}",
            f"  {self.score - self.match:+8.3f}  for the class as a whole",
        ]
        lines += ["", "through source atoms"]
        lines += [f"  {a.contribution:+8.3f}  {a.source_atom}" for a in self.atoms]
        lines += ["", "strongest latent links (source atom - target atom)"]
        lines += [
            f"  {a.contribution:+8.3f}  {a.source_atom} - atom {a.target_atom}" for a in self.links
        ]
        lines += ["", "attributes for and against"]
        lines += [
            f"  {a.support:+8.3f}  {'more' if a.is_above else 'less'} {a.attribute}"
            for a in self.attributes
        ]
        return "\n".join(lines)

    __repr__ = __str__


def explain(
    model: LatentModel, table: ClassTable, seen: ClassTable, codes: Codes, score: float, top: int
) -> Explanation:
    """z_s' W z_t + b = Σ_kl z_s[k] W[k, l] z_t[l] + b, with its largest terms named.

    A source atom that began as a seen class bears its name. The row calls for W z_t in the space
    of source atoms, so for B W z_t in the space of attributes; the support of an attribute is that
    times what the (scaled) description has above that of the average seen class: a reading aid,
    not a share of the score. `table` holds the class alone, `codes` are z_s and z_t.
    """
    W, scaled, (source_code, target_code) = model.W, model.spaces.descriptions, codes
    above = scaled(table.vectors)[0] - scaled(seen.vectors).mean(axis=0)
    terms = source_code[:, None] * W * target_code
    atoms = [f"source atom {k}" for k in range(len(W))]
    if len(W) == seen.n_classes:
        atoms = [str(name) for name in seen.names.tolist()]
    by_atom = terms.sum(axis=1)
    strongest = np.argsort(-np.abs(terms), axis=None, kind="stable")[:top]
    links = zip(*np.unravel_index(strongest, terms.shape), strict=True)
    support = model.spaces.attributes(table.vectors[0], model.B @ (W @ target_code)) * above
    similarity = by_atom.sum() + model.b
    attributes = seen.attributes or [f"column {m}" for m in range(support.size)]
    return Explanation(
        name=str(table.names[0]),
        score=score,
        similarity=float(similarity),
        bias=model.b,
        match=float(decision_scores(np.array([similarity]), model.loss, model.link)[0]),
        atoms=tuple(AtomSum(atoms[k], float(by_atom[k])) for k in largest(by_atom, top)),
        links=tuple(Link(atoms[s], int(t), float(terms[s, t])) for s, t in links),
        attributes=tuple(
            AttributeSupport(attributes[m], bool(above[m] > 0), float(support[m]))
            for m in largest(support, top)
        ),
    )


def largest(values: np.ndarray, top: int) -> np.ndarray:
    """The `top` positions of largest size, from the most positive to the most negative."""
    chosen = np.argsort(-np.abs(values), kind="stable")[:top]
    return chosen[np.argsort(-values[chosen], kind="stable")]
