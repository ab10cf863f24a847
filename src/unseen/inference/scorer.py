"""A trained model at test time: codes of classes and rows, and the paper's two decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unseen.model.latent import LatentModel
from unseen.model.objective import log_p_W
from unseen.support.parameters import Composite
from unseen.support.registry import register


def decision_scores(
    scores: np.ndarray, loss: str, link: str = "margin", fit: np.ndarray | None = None
) -> np.ndarray:
    """Decision 1: log p_W(+1 | z_i, z_j). Decision 2: log p_B(z_i | x_i) + log p_W(+1 | z_i, z_j).

    `scores` (N x C') hold s_ij, `fit` (C') holds -log p_B of each class and makes it decision 2.
    With link "margin" the result is in units of s, so that decision 1 is s itself.
    """
    values = log_p_W(scores, loss, link)
    if fit is not None:
        values = values - fit.astype(values.dtype)
    return values / 2 if loss == "squared_hinge" and link == "margin" else values


class Candidates(NamedTuple):
    """Classes to choose from, embedded.

    codes : C' x h_s.
    fit : -log p_B of each, for decision 2, or None.
    offset : what else is taken off the scores of each.
    is_seen : which of them training had rows of.
    pairs : what solves the pairs of each with any row, for Algorithm 3.
    """

    codes: np.ndarray
    fit: np.ndarray | None
    offset: np.ndarray
    is_seen: np.ndarray
    pairs: Any = None


class Scorer:
    """Codes by the data fit alone ("init." in the paper), and decision 1 or 2.

    What depends on the model alone is computed once and kept. Algorithms 3 and 4 embed differently.
    """

    def __init__(self, model: LatentModel, decision: int) -> None:
        self.model, self.decision = model, decision
        # λ2s of decision 2.
        self.source_fit: float = model.source_fit

    def embed_classes(self, S: np.ndarray) -> np.ndarray:
        """Codes of classes without training rows from their scaled descriptions, C' x h_s."""
        return self.model.embed_classes(S)

    def embed_rows(self, XD: np.ndarray, seen: bool = False) -> np.ndarray:
        """Codes of rows given as X̃ D, n x h_t, as rows of `seen` or of unseen classes."""
        return self.model.embed_rows(XD)

    def offsets(self, Zs: np.ndarray) -> np.ndarray:
        """What is taken off the scores of unseen classes with these codes."""
        return np.zeros(len(Zs))

    def candidates(self, S: np.ndarray, seen: np.ndarray) -> Candidates:
        """Embed classes: `seen` holds the number of a class in training, or -1 for a new one."""
        model, is_seen = self.model, seen >= 0
        Zs = np.empty((S.shape[0], model.W.shape[0]), model.W.dtype)
        Zs[is_seen] = model.Zs[seen[is_seen]]
        offset = np.zeros(S.shape[0])
        if not is_seen.all():
            Zs[~is_seen] = self.embed_classes(S[~is_seen])
            offset[~is_seen] = self.offsets(Zs[~is_seen])
        fit = None if self.decision == 1 else model.source_cost(S, Zs, self.source_fit)
        return Candidates(Zs, fit, offset, is_seen)

    def scores(self, XD: np.ndarray, candidates: Candidates) -> np.ndarray:
        """Scores of all candidates, n x C', of rows given as X̃ D."""
        return self._scores(lambda seen: self.embed_rows(XD, seen), XD, candidates)

    def gallery_codes(self, XD: np.ndarray) -> np.ndarray:
        """What an index keeps of rows: their codes, as rows of unseen and of seen classes."""
        return self.embed_rows(XD)

    def gallery_scores(self, codes: np.ndarray, candidates: Candidates) -> np.ndarray:
        """`scores` by what an index keeps."""
        return self._scores(lambda seen: codes[:, self._half(seen)], codes, candidates)

    def gallery_queries(self, candidates: Candidates) -> np.ndarray | None:
        """Vectors whose product with what an index keeps ranks rows as the score does."""
        pulls = candidates.codes @ self.model.W
        width = pulls.shape[1]
        halves = [self._half(seen).start or 0 for seen in (False, True)]
        queries = np.zeros((len(pulls), width + max(halves)), pulls.dtype)
        for seen, start in zip((False, True), halves, strict=True):
            here = candidates.is_seen == seen
            queries[here, start : start + width] = pulls[here]
        return queries

    def _half(self, seen: bool) -> slice:
        """The columns of `gallery_codes` for candidates that are seen, or are not."""
        return slice(None)

    def _scores(
        self, codes: Callable[[bool], np.ndarray], like: np.ndarray, candidates: Candidates
    ) -> np.ndarray:
        model = self.model
        scores = np.empty((len(like), candidates.is_seen.size), dtype=like.dtype)
        for seen in np.unique(candidates.is_seen):
            here = candidates.is_seen == seen
            raw = model.scores(candidates.codes[here], codes(bool(seen)))
            fit = None if candidates.fit is None else candidates.fit[here]
            scores[:, here] = decision_scores(raw, model.loss, model.link, fit)
        scores -= candidates.offset.astype(scores.dtype)
        return scores


class Testing(Composite):
    """What is done at test time; a part of JLSE. Its parameters may change after `fit`."""

    def on(self, model: LatentModel, decision: int) -> Scorer:
        """A trained model, as these choices use it."""
        return Scorer(model, decision)


@register("data fit")
class DataFit(Testing):
    """Codes from the data fit alone, for classes and rows: "init." in the paper's table."""
