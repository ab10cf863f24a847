"""FeatureVAE: rows of a class are drawn from its description, and classified by what was drawn.

After Mishra, Reddy, Mittal and Murthy, "A generative model for zero shot learning using conditional
variational autoencoders", CVPR workshops 2018. Training needs torch (the extra "deep"); a fitted
model is a few arrays, which draw and predict without it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg

from unseen.classes import ClassTable
from unseen.errors import require
from unseen.estimators.exem import principal
from unseen.estimators.scaled import ScaledClassifier
from unseen.rows.moments import class_moments
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.support.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    at_least,
    check_values,
    has_parameters,
    parameter,
    part,
)
from unseen.support.work import threads_for
from unseen.training.autoencoder import Rows, Sizes, train
from unseen.training.minibatch import own_order
from unseen.training.networks import Passes

# The least share of the variance of rows that lies within classes.
_LEAST_WITHIN = 0.01


class Drawn(NamedTuple):
    """Rows that were drawn (in the space of `transform`), and the name of the class of each."""

    rows: np.ndarray
    names: np.ndarray


@has_parameters
class FeatureVAE(ScaledClassifier):
    """A conditional variational autoencoder that makes up rows of classes nobody has seen.

        p(x | z, s) = N(x; f(z, s), diag σ²),      f(z, s) = max(0, [z, s] D1 + d1) D2 + d2
        p(z)        = N(z; 0, I)
        score(x, s) = log N(x; μ(s), Σ) - log N(x; μ̄, Σ + B)

    Here x is a row in the principal components of the training rows. f and an encoder q(z | x, s)
    of the same kind are learned from the rows of the seen classes by the evidence lower bound
    (`unseen.training.autoencoder`). Then rows are drawn: for z from N(0, I), the row f(z, s) plus
    noise σ. μ(s) is the mean of the rows drawn for a class; for a seen class, of its own rows. Σ is
    the covariance of drawn rows within classes, pooled over the seen ones; μ̄ and B are mean and
    covariance of the means of the seen classes.

    So the classifier is linear discriminant analysis of drawn rows against any row, one class at a
    time. The paper trains a support vector machine, others a softmax, on the rows drawn for all
    candidates: then the score of a class depends on which others are asked for, and a new class
    means a new training. `draw` gives rows for any such classifier, which takes `transform(X)`.

    Parameters
    ----------
    n_components : how many principal components there are at most.
    n_codes : length of z.
    n_hidden : width of the hidden layers of encoder and decoder.
    penalty : λ, on what the decoder makes of a description.
    shrinkage : how far Σ is drawn to a multiple of I.
    n_draws : rows drawn for a class, rounded up to an even number: with z there is -z.
    max_iter : passes over the rows.
    learning_rate : size of a step of Adam at the start; it falls to zero along half a cosine.
    batch_size : rows per step; fewer where a pass would have less than ten steps.
    random_state : seed of the first weights, of the order of the rows, and of all z.

    Attributes
    ----------
    components_, center_ : the principal components (d_t x h) and the mean of the rows in them (h).
    decoder_, noise_ : D1, d1, D2, d2; and σ², h.
    codes_ : the z of the rows that are drawn, n_draws x n_codes.
    means_ : of the rows of the seen classes, C x h.
    directions_, background_ : A (h x h) with A'ΣA = I and A'(Σ + B)A = diag(background_).
    history_ : the mean of the objective over the mini-batches of each pass.
    """

    needs: ClassVar[str] = "torch"

    n_components: int = parameter(200, at_least(1))
    n_codes: int = parameter(8, at_least(1))
    n_hidden: int = parameter(256, at_least(1))
    penalty: float = parameter(3e-4, NOT_NEGATIVE, tries=[1e-4, 3e-4, 1e-3])
    shrinkage: float = parameter(0.5, SHARE, tries=[0.2, 0.5, 0.8])
    n_draws: int = parameter(200, at_least(1))
    _: KW_ONLY
    max_iter: int = parameter(30, at_least(1), tries=[15, 30, 60])
    learning_rate: float = parameter(2e-3, POSITIVE)
    batch_size: int = parameter(64, at_least(1))
    random_state: int = parameter(0, at_least(0), None)
    row_scaler: RowScaler | None = part(partial(RowScaler, center=False, power="auto"))
    class_scaler: ClassScaler | None = part(partial(ClassScaler, power=0.7))

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        torch = require("torch", "deep", "fitting the feature autoencoder")
        S = self._learn_scaling(X, table)
        with threads_for(float(X.size) * min(X.shape)):
            self.components_, self.center_ = principal(X, self.scaling_, self.n_components)
            variances = self._learn_classes(X, labels, table.n_classes)
        rng = np.random.default_rng(self.random_state)
        codes = rng.standard_normal((-(-self.n_draws // 2), self.n_codes))
        self.codes_ = np.concatenate([codes, -codes])
        order = own_order(X, self.scaling_, labels)
        self.decoder_, self.noise_, self.history_ = train(
            torch,
            Rows(lambda numbers: self._row_codes(X[numbers]), labels, order, variances),
            S,
            Sizes(self.n_codes, self.n_hidden),
            self.penalty,
            Passes(self.max_iter, self.learning_rate, self.batch_size),
            rng,
        )
        self.n_iter_ = self.max_iter
        self.directions_, self.background_ = discriminant(
            self._scatter(S), self.means_, self.shrinkage
        )

    def _learn_classes(self, X: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
        """Scale rows to a mean square length of one; their variances within classes, h."""
        found = class_moments(X, labels, n_classes, self._row_codes)
        shares = found.counts / found.counts.sum()
        within, whole = shares @ found.variances, shares @ (found.variances + found.means**2)
        length = np.sqrt(whole.sum())
        self.components_ /= self.components_.dtype.type(length)
        self.center_ /= length
        self.means_ = found.means / length
        # One row a class, or rows that equal each other, tell nothing of the spread.
        return np.maximum(within, _LEAST_WITHIN * whole) / length**2

    def _scatter(self, S: np.ndarray) -> np.ndarray:
        """The covariance within classes of rows drawn for scaled descriptions S, h x h."""
        total = np.zeros((self.n_hidden, self.n_hidden))
        for s in S:
            units = hidden(s, self.codes_, self.decoder_)
            units -= units.mean(axis=0)
            total += units.T @ units
        last = self.decoder_[2].astype(np.float64)
        return last.T @ (total / (len(S) * len(self.codes_))) @ last + np.diag(self.noise_)

    # -- test time ------------------------------------------------------------------------------

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        Z = self.scaling_(X) @ self.components_.astype(X.dtype, copy=False)
        Z -= self.center_.astype(Z.dtype)
        return Z

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        """μ of the candidates, C' x h."""
        last, offset = (part.astype(np.float64) for part in self.decoder_[2:])
        S = self.class_scaling_(table.vectors.astype(np.float64))
        units = [hidden(s, self.codes_, self.decoder_).mean(axis=0) for s in S]
        means = np.stack(units) @ last + offset
        seen = self._number_if_seen(table)
        means[seen >= 0] = self.means_[seen[seen >= 0]]
        return means

    def _prepare(self, table: ClassTable) -> np.ndarray:
        return (self._class_codes(table) - self.means_.mean(axis=0)) @ self.directions_

    def _score(self, X: np.ndarray, prepared: np.ndarray) -> np.ndarray:
        Z = self._row_codes(X)
        Z -= self.means_.mean(axis=0).astype(Z.dtype)
        Z = Z @ self.directions_.astype(Z.dtype)
        level = np.log(self.background_).sum() - np.einsum("ch,ch->c", prepared, prepared)
        scores = Z @ prepared.T.astype(Z.dtype)
        scores += (0.5 * level).astype(Z.dtype)
        scores -= (Z * Z @ (0.5 - 0.5 / self.background_).astype(Z.dtype))[:, None]
        return scores

    def draw(self, candidates: Any = None, n_rows: int = 100, random_state: int = 0) -> Drawn:
        """Rows that the model makes up for classes (as in `predict`), n_rows of each class.

        They lie in the space of `transform`, so a classifier trained on them takes `transform(X)`.
        """
        check_values(
            {"n_rows": [at_least(1)], "random_state": [at_least(0), None]},
            {"n_rows": n_rows, "random_state": random_state},
        )
        table = self._candidates(candidates)
        rng = np.random.default_rng(random_state)
        last, offset = (part.astype(np.float64) for part in self.decoder_[2:])
        drawn = []
        for s in self.class_scaling_(table.vectors.astype(np.float64)):
            codes = rng.standard_normal((n_rows, self.codes_.shape[1]))
            rows = hidden(s, codes, self.decoder_) @ last + offset
            drawn.append(rows + rng.standard_normal(rows.shape) * np.sqrt(self.noise_))
        return Drawn(np.concatenate(drawn), np.repeat(table.names, n_rows))


def hidden(s: np.ndarray, codes: np.ndarray, decoder: list[np.ndarray]) -> np.ndarray:
    """The hidden units max(0, [z, s] D1 + d1) of a description with every code, n x n_hidden."""
    first, bias = (part.astype(np.float64) for part in decoder[:2])
    n_codes = codes.shape[1]
    return np.maximum(codes @ first[:n_codes] + (s @ first[n_codes:] + bias), 0.0)


def discriminant(
    scatter: np.ndarray, means: np.ndarray, shrinkage: float
) -> tuple[np.ndarray, np.ndarray]:
    """A with A'ΣA = I and A'(Σ + B)A = diag λ, and λ.

    Σ is the scatter, shrunk to the multiple of I that has its trace; B is the covariance of the
    means (C x h).
    """
    width = len(scatter)
    within = (1.0 - shrinkage) * scatter
    within.flat[:: width + 1] += shrinkage * np.trace(scatter) / width
    apart = means - means.mean(axis=0)
    between = apart.T @ apart / len(means)
    values, directions = scipy.linalg.eigh(between, within)
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(width)])
    return directions * signs, 1.0 + np.maximum(values, 0.0)
