"""The general model: a pair scores what its best codes score under three terms.

    F(x_s, x_t) = max over z_s, z_t of log p_B(z_s | x_s) + log p_D(z_t | x_t) + log p_W(z_s, z_t)

(Eq. gen_sim of the paper, for a pair of the same class.) A member of the family is two terms for
the codes and a similarity between them. In the arrays below the last axis holds a vector; the two
before it run over rows and classes and are 1 where something is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.model.objective import log_p_W, minus_log_p
from unseen.pairs.loss import is_squared, pair_loss
from unseen.rows.blocks import row_blocks
from unseen.solvers.block import Ridge
from unseen.solvers.source_codes import SETS, fit_source_codes

Embedding = Callable[[np.ndarray], np.ndarray]
_MOST_ROUNDS = 200
_MOST_HALVINGS = 100


class Term:
    """log p(z | x), for the source or for the target domain.

    It may have several components, of which each has codes of its own; `is_fixed` says that a
    component has one code for an input, whatever it is compared with.
    """

    n_components = 1
    is_fixed = False

    def best(self, x: np.ndarray, pull: np.ndarray | None, component: int) -> np.ndarray:
        """argmax over codes z of the component of log p(z | x) + <pull, z>; no pull is zero."""
        raise TypeError(f"{type(self).__name__} must define best")

    def log_p(self, x: np.ndarray, z: np.ndarray, component: int) -> np.ndarray:
        """log p(z | x), one value per vector."""
        raise TypeError(f"{type(self).__name__} must define log_p")


class DictionaryTerm(Term):
    """The term of supervised dictionary learning (Eq. pb and pd).

        log p(z | x) = -λ1/2 |z|² - λ2/2 |x - A z|²

    Parameters
    ----------
    atoms : A, d x h: B or D.
    shrink, fit : λ1 and λ2.
    code_set : "free", "affine" (summing to one) or "simplex" (and not negative).
    """

    def __init__(
        self, atoms: np.ndarray, shrink: float, fit: float, code_set: str = "free"
    ) -> None:
        if code_set not in SETS:
            raise InputError(f"code_set must be one of {SETS}, not {code_set!r}")
        if not (shrink >= 0 and fit > 0):
            raise InputError(f"a dictionary needs shrink >= 0 and fit > 0, not {shrink} and {fit}")
        self.atoms, self.shrink, self.fit, self.code_set = atoms, shrink, fit, code_set
        self._ridge = Ridge(atoms.T @ atoms, shrink, fit)

    def best(self, x: np.ndarray, pull: np.ndarray | None, component: int) -> np.ndarray:
        # A pull is a change of the data: λ2 A'x + pull = λ2 (A'x + pull / λ2).
        target = x @ self.atoms
        if pull is not None:
            target = target + pull / self.fit
        flat = target.reshape(-1, target.shape[-1])
        return fit_source_codes(flat, self._ridge, self.code_set).value.reshape(target.shape)

    def log_p(self, x: np.ndarray, z: np.ndarray, component: int) -> np.ndarray:
        return -minus_log_p(x, z, self.atoms, self.shrink, self.fit)


class PointMasses(Term):
    """A mixture of K point masses: the code is one of K embeddings of the input.

        log p(z | x) = log π_k  if z = φ_k(x),   -∞ for every other z

    Parameters
    ----------
    embeddings : the K functions φ_k, each from inputs (n x d) to codes (n x h).
    log_weights : log π_k; all are -log K if not given.
    """

    is_fixed = True

    def __init__(
        self, embeddings: Sequence[Embedding], log_weights: Sequence[float] | None = None
    ) -> None:
        if not embeddings:
            raise InputError("a mixture needs at least one embedding")
        self.embeddings = list(embeddings)
        self.n_components = len(self.embeddings)
        if log_weights is None:
            log_weights = [-float(np.log(self.n_components))] * self.n_components
        if len(log_weights) != self.n_components:
            raise InputError(
                f"{self.n_components} embeddings, but {len(log_weights)} logarithms of weights"
            )
        self.log_weights = list(log_weights)

    def best(self, x: np.ndarray, pull: np.ndarray | None, component: int) -> np.ndarray:
        flat = self.embeddings[component](x.reshape(-1, x.shape[-1]))
        return flat.reshape(*x.shape[:-1], -1)

    def log_p(self, x: np.ndarray, z: np.ndarray, component: int) -> np.ndarray:
        is_there = (z == self.best(x, None, component)).all(axis=-1)
        return np.where(is_there, self.log_weights[component], -np.inf)


class PointMass(PointMasses):
    """All mass on one embedding: log p(z | x) is 0 if z = φ(x), -∞ for every other z.

    `log_weight` in place of 0 moves every score by the same number.
    """

    def __init__(self, embedding: Embedding, log_weight: float = 0.0) -> None:
        super().__init__([embedding], [log_weight])


def in_blocks(embedding: Embedding, n_blocks: int) -> list[Embedding]:
    """K embeddings, the k-th of which puts φ(x) in block k of a code of K blocks, zeros elsewhere.

    The functions π_i and τ_j of the paper, for similarities whose W is block-diagonal.
    """

    def place(block: int) -> Embedding:
        def placed(x: np.ndarray) -> np.ndarray:
            z = embedding(x)
            out = np.zeros((len(z), n_blocks, z.shape[1]), z.dtype)
            out[:, block] = z
            return out.reshape(len(z), -1)

        return placed

    return [place(block) for block in range(n_blocks)]


class Similarity:
    """log p_W(z_s, z_t) of a pair of codes.

    Where a term lets codes move, `best_source` and `best_target` are needed too: they get a
    function from a pull to the best code under that term, and return the best code under the sum
    of that term and this one.
    """

    def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define log_p")

    def allows(self, source: int, target: int) -> bool:
        """Δ of the paper: may codes of these components go together?"""
        return True

    def best_source(self, respond: Callable, z_t: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} works with fixed codes only")

    def best_target(self, respond: Callable, z_s: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} works with fixed codes only")


class Bilinear(Similarity):
    """log p_W = s for s = z_s' W z_t + b, or a link of it that saturates.

    Parameters
    ----------
    W : h_s x h_t.
    bias : b.
    loss, link : as in `unseen.model.objective.log_p_W`. "margin" has no upper bound, so neither has
        F where codes of both sides move.
    same_component : let only component k of one side go with component k of the other.
    """

    def __init__(
        self,
        W: np.ndarray,
        bias: float = 0.0,
        *,
        loss: str = "hinge",
        link: str = "margin",
        same_component: bool = False,
    ) -> None:
        self.W, self.bias, self.loss, self.link = W, bias, loss, link
        self.same_component = same_component

    def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        s = _inner(z_s, z_t @ self.W.T) + self.bias
        # What `log_p_W` breaks ties by is for decisions: F is the largest of the loss alone.
        return -pair_loss(s, self.loss) if self.link == "saturating" else log_p_W(s, self.loss)

    def allows(self, source: int, target: int) -> bool:
        return source == target or not self.same_component

    def best_source(self, respond: Callable, z_t: np.ndarray) -> np.ndarray:
        return self._best(respond, z_t @ self.W.T)

    def best_target(self, respond: Callable, z_s: np.ndarray) -> np.ndarray:
        return self._best(respond, z_s @ self.W)

    def _best(self, respond: Callable, pull: np.ndarray) -> np.ndarray:
        """The code z(α) = respond(α · pull) whose α is the slope of the link at s(z(α)).

        s(z(α)) rises with α and the slope of the link falls with s, so there is one such α. On
        free and affine codes s is linear in α and the first chord hits it.
        """
        squared = is_squared(self.loss)
        if self.link == "margin":
            return respond((2.0 if squared else 1.0) * pull)

        def gap(alpha: np.ndarray) -> np.ndarray:
            """s(z(α)) minus the s at which the link has slope α."""
            s = _inner(respond(alpha[..., None] * pull), pull) + self.bias
            return s - (1 - alpha / 2 if squared else 1.0)

        at_zero = gap(np.zeros(pull.shape[:-1]))
        most = np.maximum(-2 * at_zero, 0) if squared else np.ones_like(at_zero)
        return respond(_root(gap, at_zero, most)[..., None] * pull)


class Maximum(NamedTuple):
    """F of every pair (N x C), and the codes it is reached at (N x C x h)."""

    value: np.ndarray
    source: np.ndarray
    target: np.ndarray


class Joint:
    """A member of the family: F from its three terms.

    Codes that move are found by alternating maximisation from the best codes without the
    similarity (Algorithm 3), for every allowed pair of components; with fixed codes F is exact.
    It ends where neither code alone can climb: a local maximum, or the knee of the plain hinge.

    Parameters
    ----------
    source, target : log p_B and log p_D.
    similarity : log p_W.
    tol : stop when a round lifts no pair by more than this.
    """

    def __init__(
        self, source: Term, target: Term, similarity: Similarity, tol: float = 1e-10
    ) -> None:
        self.source, self.target, self.similarity, self.tol = source, target, similarity, tol

    def scores(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        """F of every row of X (N x d_t) with every description of S (C x d_s), N x C."""
        return np.concatenate([m.value for m in self._blocks(S, X)])

    def maximise(self, S: np.ndarray, X: np.ndarray) -> Maximum:
        """F of every pair with the codes it is reached at."""
        return Maximum(*(np.concatenate(parts) for parts in zip(*self._blocks(S, X), strict=True)))

    def _blocks(self, S: np.ndarray, X: np.ndarray) -> Iterator[Maximum]:
        for rows in row_blocks(len(X), 8 * len(S) * (S.shape[1] + X.shape[1])):
            yield self._maximum(S[None], X[rows][:, None])

    def _maximum(self, x_s: np.ndarray, x_t: np.ndarray) -> Maximum:
        """Pair by pair the highest of the maxima of all components that may go together."""
        components = product(range(self.source.n_components), range(self.target.n_components))
        found = [self._of(x_s, x_t, *c) for c in components if self.similarity.allows(*c)]
        if not found:
            raise InputError("the similarity allows no pair of components")
        best = np.argmax([maximum.value for maximum in found], axis=0)
        values, *codes = (np.stack(parts) for parts in zip(*found, strict=True))
        value = np.take_along_axis(values, best[None], axis=0)[0]
        places = best[None, ..., None]
        return Maximum(value, *(np.take_along_axis(z, places, axis=0)[0] for z in codes))

    def _of(self, x_s: np.ndarray, x_t: np.ndarray, j: int, i: int) -> Maximum:
        """The maximum over the codes of component j of the source and i of the target."""

        def value() -> np.ndarray:
            own = self.source.log_p(x_s, z_s, j) + self.target.log_p(x_t, z_t, i)
            return own + self.similarity.log_p(z_s, z_t)

        z_s, z_t = self.source.best(x_s, None, j), self.target.best(x_t, None, i)
        now = value()
        for _ in range(0 if self.source.is_fixed and self.target.is_fixed else _MOST_ROUNDS):
            z_s = self.similarity.best_source(lambda pull: self.source.best(x_s, pull, j), z_t)
            z_t = self.similarity.best_target(lambda pull: self.target.best(x_t, pull, i), z_s)
            before, now = now, value()
            if (now - before).max() <= self.tol:
                break
        codes = (np.broadcast_to(z, (*now.shape, z.shape[-1])) for z in (z_s, z_t))
        return Maximum(now, *codes)


def _root(
    gap: Callable[[np.ndarray], np.ndarray], at_low: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """The α in [0, most] where a rising function is zero, the nearer end where it has no zero.

    False position with the Illinois rule, element by element; `at_low` is the value at 0.
    """
    low, high = np.zeros_like(most), most
    at_high = gap(high)
    alpha = np.where(at_low >= 0, low, high)
    is_open = (at_low < 0) & (at_high > 0)
    scale = np.abs(at_low) + np.abs(at_high)
    for _ in range(_MOST_HALVINGS):
        if not is_open.any():
            break
        rise = np.where(is_open, at_high - at_low, 1)
        alpha = np.where(is_open, low - at_low * (high - low) / rise, alpha)
        here = gap(alpha)
        is_below = here < 0
        low, high = np.where(is_below, alpha, low), np.where(is_below, high, alpha)
        # The end that stays counts for half, so that it does not stay for ever.
        at_low = np.where(is_below, here, at_low / 2)
        at_high = np.where(is_below, at_high / 2, here)
        is_open &= np.abs(here) > 1e-13 * scale
    return alpha


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...h,...h->...", a, b)
