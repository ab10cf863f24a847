"""A trained model at test time: how classes and rows are embedded, and what a pair scores."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from unseen.inference.decision import decision_scores
from unseen.inference.embedding import Away, class_levels, embed_classes, embed_rows
from unseen.model.objective import Codes
from unseen.model.terms import minus_log_p_B, similarity_scores
from unseen.solvers.pair_codes import PairCodes
from unseen.threads import threads_for


class TestTime(NamedTuple):
    """The choices that are made at test time.

    source_set, source_shrinkage, target_shrinkage : of the codes, as in training.
    source_fit, target_fit : λ2s of decision 2, which counts -log p_B with it, and λ2s and λ2t of
        Algorithm 3.
    inference : "instance" or "pairwise" (Algorithm 3): to what codes belong.
    away : Algorithm 4, or None where codes come from the data fit alone.
    """

    __test__ = False  # to pytest its name looks like a test's

    source_set: str
    source_shrinkage: float
    target_shrinkage: float
    source_fit: float
    target_fit: float
    away: Away | None
    inference: str
    decision: int
    link: str
    loss: str


class Candidates(NamedTuple):
    """Classes to choose from, embedded: codes (C' x h_s), -log p_B or None, what else is taken off
    their scores, which of them are seen, and, for Algorithm 3, what solves their pairs."""

    codes: np.ndarray
    fit: np.ndarray | None
    offset: np.ndarray
    is_seen: np.ndarray
    pairs: PairCodes | None = None


class Latent:
    """Codes, dictionaries and similarity, with the choices of test time."""

    def __init__(self, codes: Codes, choices: TestTime) -> None:
        self.codes, self.choices = codes, choices

    @cached_property
    def _gram(self) -> np.ndarray:
        """D'D, computed once: it is what a single row would wait for."""
        return self.codes.D.T.astype(np.float64) @ self.codes.D

    def embed_rows(self, XD: np.ndarray, away: bool = True) -> np.ndarray:
        """Codes of rows given as X D; `away` from the seen classes by Algorithm 4, if chosen."""
        choices = self.choices
        with threads_for(XD.size * self.codes.Zs.shape[0]):
            return embed_rows(
                XD, self.codes, choices.target_shrinkage, choices.away if away else None, self._gram
            )

    def embed_classes(self, S: np.ndarray) -> np.ndarray:
        """Codes of classes without training rows, from their scaled descriptions."""
        choices = self.choices
        return embed_classes(
            S, self.codes, choices.source_shrinkage, choices.source_set, choices.away
        )

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        """Embed classes: `seen` holds the number of a class in training, or -1 for a new one."""
        is_seen = seen >= 0
        Zs = np.empty((S.shape[0], self.codes.W.shape[0]), self.codes.W.dtype)
        Zs[is_seen] = self.codes.Zs[seen[is_seen]]
        offset = np.zeros(S.shape[0])
        if not is_seen.all():
            Zs[~is_seen] = self.embed_classes(S[~is_seen])
            away = self.choices.away
            if away is not None and away.offset:
                offset[~is_seen] = away.offset * class_levels(self.codes, Zs[~is_seen])
        return Candidates(Zs, self._fit(S, Zs), offset, is_seen)

    def _fit(self, S: np.ndarray, Zs: np.ndarray) -> np.ndarray | None:
        """-log p_B of each class for decision 2."""
        if self.choices.decision == 1:
            return None
        fit = self.choices.source_fit
        return minus_log_p_B(S, Zs, self.codes.B, self.choices.source_shrinkage * fit, fit)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        """Scores of all candidates, N x C'; rows are away from the seen classes for unseen ones."""
        scores = np.empty((XD.shape[0], candidates.is_seen.size), dtype=XD.dtype)
        for seen in np.unique(candidates.is_seen):
            here = candidates.is_seen == seen
            rows = self.embed_rows(XD, away=not seen)
            raw = similarity_scores(candidates.codes[here], rows, self.codes.W, self.codes.b)
            fit = None if candidates.fit is None else candidates.fit[here]
            scores[:, here] = decision_scores(raw, self.choices.loss, self.choices.link, fit)
        scores -= candidates.offset.astype(scores.dtype)
        return scores
