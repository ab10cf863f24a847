"""Any pair of a source and a target: training on labels of pairs, and the threshold of Eq. 1."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unseen.classes import ClassTable
from unseen.classes.checks import check_unmasked
from unseen.errors import InputError
from unseen.estimators.base import ResumableClassifier, checked_rows
from unseen.inference import threshold as thresholds
from unseen.inference.threshold import GOALS, METHODS
from unseen.pairs.labels import pair_labels
from unseen.pairs.splits import KINDS, PairSplit, cold_start_splits
from unseen.support.parameters import Choice, check_number, check_values


class PairMatching(ResumableClassifier):
    """The binary problem behind zero-shot learning: do a source and a target describe one thing?

        F(x_s, x_t) ≥ θ  →  Ident, else Diff                                            (Eq. 1)

    Class labels are the case in which a target matches one source alone; `fit_pairs` takes any
    labels of pairs. What it has learned is kept like that of `fit`.

    Attributes
    ----------
    pairs_ : whether sources have names, and whether matches are disjoint.
    pair_threshold_ : θ of `predict_pairs`.
    pair_curve_ : scores and the probabilities of a match that belong to them.
    """

    pairs_: dict[str, bool]
    pair_threshold_: float
    pair_curve_: dict[str, Any]

    def fit_pairs(
        self,
        S: Any,
        X: Any,
        Y: Any,
        weights: Any = None,
        *,
        disjoint: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from labels of pairs of C sources and N targets by Algorithm 2.

        Parameters
        ----------
        S : C x d_s source vectors; or a class table (a mapping, a DataFrame), whose names then
            serve in `predict`, `rank`, `reveal` and `explain`.
        X : N x d_t target vectors. One without a known pair still takes part in the data fit.
        Y : +1 for a match, -1 for none, 0 for unknown: an N x C array, targets down, or a sparse
            matrix of that shape, in which only stored entries are known. Where sources or targets
            have names (S a table, X a DataFrame), a DataFrame of labels is matched with them by
            name.
        weights : of the pairs, N x C. `positive_weight` comes on top of them.
        disjoint : no source met later matches a target of training, and no target met later a
            source of training, as with people in re-identification. Only then are later ones
            embedded by Algorithm 4, whose premise this is, and scored by the decision chosen;
            otherwise by the data fit, and by the similarity alone: -log p_B and -log p_D are the
            same for Ident and Diff.
        checkpoint : a file that keeps the state of training, as in `fit`.

        Labels are kept as an N x C array of one byte a pair, with weights as floats.
        """
        given, X = X, checked_rows(self, X)
        labels = labels_of_pairs(S, given, Y, weights, X.dtype)
        table, named = as_sources(S)
        self._set_classes(table, table.names)
        with self._keeping(checkpoint):
            self._fit_checked(X, labels, table)
        self.pairs_ = {"named": named, "disjoint": bool(disjoint)}
        return self

    def score_pairs(self, S: Any, X: Any) -> np.ndarray:
        """F(x_s, x_t) of every source vector (C' x d_s) with every row (N' x d_t), N' x C'.

        After `fit` the sources are taken for descriptions of classes without training rows. After
        `fit_pairs` a source whose vector is that of one of training has its trained code; how
        others are embedded, and all rows, is documented there (`disjoint`).
        """
        return self.similarities(X, as_sources(S)[0])

    def predict_pairs(self, S: Any, X: Any, threshold: float | None = None) -> np.ndarray:
        """+1 where F(x_s, x_t) ≥ θ and -1 elsewhere (Eq. 1), N' x C'.

        θ is `threshold`, or what `calibrate` has learned; without either it is the score where p_W
        calls both answers as likely.
        """
        scores = self.score_pairs(S, X)
        learned = vars(self).get("pair_threshold_", self._even_score())
        return np.where(scores >= (learned if threshold is None else threshold), 1, -1)

    def pair_probabilities(self, S: Any, X: Any) -> np.ndarray:
        """The probability of a match of every pair, N' x C', as `calibrate` has learned it."""
        check_is_fitted(self)
        if "pair_curve_" not in vars(self):
            raise InputError("scores become probabilities by held-out pairs: call calibrate first")
        return thresholds.on_curve(self.pair_curve_, self.score_pairs(S, X))

    def calibrate(
        self,
        S: Any,
        X: Any,
        Y: Any,
        weights: Any = None,
        *,
        cold: str | None = "targets",
        method: str = "sigmoid",
        goal: str = "f1",
        n_splits: int = 3,
        random_state: int = 0,
    ) -> Self:
        """Learn θ and the probability of a match from pairs that took no part in training.

        Parameters
        ----------
        S, X, Y, weights : pairs as in `fit_pairs`.
        cold : "targets", "sources" or "both": these are the training pairs; copies of the model are
            trained without a part of the targets, the sources or both, and score what they never
            met, each in turn. Choose what the model will meet: scores of known sources are higher.
            None: the pairs are new to this model, which scores them as it is.
        method : "sigmoid" (Platt, two numbers) or "isotonic" (any rising curve, for many pairs).
        goal : what θ maximises on these pairs: "f1", "balanced" or "accuracy".
        """
        check_is_fitted(self)
        known = {"cold": [Choice(*KINDS), None]}
        known |= {"method": [Choice(*METHODS)], "goal": [Choice(*GOALS)]}
        check_values(known, {"cold": cold, "method": method, "goal": goal})
        if cold is not None and not self._has_pairs:
            raise InputError(
                "the model was fitted on class labels: give pairs of classes that it was not "
                "trained on, with cold=None"
            )
        signs = labels_of_pairs(S, X, Y, weights)
        if cold is None:
            parts = [(signs, self.score_pairs(S, X))]
        else:
            rows = checked_rows(self, X, reset=False)
            vectors, disjoint = as_sources(S)[0].vectors, self.pairs_["disjoint"]
            splits = cold_start_splits(signs, cold, n_splits, random_state)
            parts = [cold_scores(self, vectors, rows, signs, s, disjoint=disjoint) for s in splits]
        labels = np.concatenate([part[part != 0] for part, _ in parts])
        scores = np.concatenate([found[part != 0] for part, found in parts])
        weights = np.abs(labels)
        self.pair_threshold_ = thresholds.best_threshold(labels > 0, scores, weights, goal)
        self.pair_curve_ = thresholds.fit_curve(labels > 0, scores, weights, method)
        return self

    # -- what a method asks ---------------------------------------------------------------------

    def _even_score(self) -> float:
        """The score at which a match is as likely as none."""
        return 0.0

    @property
    def _has_pairs(self) -> bool:
        return "pairs_" in vars(self)

    def _check_pairs(self) -> None:
        """An error unless what a model file says of pairs makes sense."""
        state = vars(self)
        check_number(state.get("pair_threshold_", 0.0), "its threshold of pairs")
        pairs = state.get("pairs_", {"named": False, "disjoint": False})
        is_complete = isinstance(pairs, dict) and set(pairs) == {"named", "disjoint"}
        if not is_complete or not all(isinstance(value, bool) for value in pairs.values()):
            raise InputError("what it says of its pairs makes no sense")
        if "pair_curve_" in state:
            thresholds.check_curve(self.pair_curve_)

    def _known_sources(self, table: ClassTable) -> np.ndarray:
        """The number of the one source of training with the same vector, or -1."""
        known: dict[bytes, int] = {}
        for k, vector in enumerate(_keys(self.class_table_.select(self.seen_classes_))):
            known[vector] = -1 if vector in known else k
        return np.array([known.get(vector, -1) for vector in _keys(table)])

    def _candidates(self, candidates: Any) -> ClassTable:
        check_is_fitted(self)
        by_name = candidates is None or isinstance(candidates, (str, list, tuple, np.ndarray))
        if by_name and self._has_pairs and not self.pairs_["named"]:
            raise InputError(
                "the model was fitted on pairs of vectors without names: use score_pairs or "
                "predict_pairs, give a class table as candidates, or give one to fit_pairs"
            )
        return super()._candidates(candidates)

    def reveal(self, classes: Any) -> Self:
        """As of every method; after `fit_pairs` only where its sources had names."""
        if self._has_pairs:
            self._candidates(None)
        return super().reveal(classes)


def as_sources(S: Any) -> tuple[ClassTable, bool]:
    """Source vectors as a table, and whether they came with names."""
    if isinstance(S, (ClassTable, Mapping)) or (hasattr(S, "columns") and hasattr(S, "index")):
        return ClassTable.of(S), True
    check_unmasked(S, "S")
    vectors = np.atleast_2d(np.asarray(S))
    return ClassTable([f"source {k}" for k in range(len(vectors))], vectors), False


def labels_of_pairs(
    S: Any, X: Any, Y: Any, weights: Any = None, dtype: Any = np.float64
) -> np.ndarray:
    """`pair_labels` of these sources and targets, by name where they have names."""
    table, named = as_sources(S)
    names = {"sources": table.names if named else None, "targets": getattr(X, "index", None)}
    return pair_labels(Y, len(X), table.n_classes, weights, dtype, **names)


def cold_scores(
    model: Any, S: np.ndarray, X: Any, signs: np.ndarray, split: PairSplit, **how: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of the pairs to test on, by a copy of a model trained on the others."""
    known = signs[split.train]
    if known.dtype != np.int8:
        how["weights"] = np.abs(known)
    copy: Any = clone(model)
    copy.fit_pairs(S[split.train_sources], X[split.train_targets], np.sign(known), **how)
    scores = copy.score_pairs(S[split.test_sources], X[split.test_targets])
    return signs[split.test], scores


def _keys(table: ClassTable) -> list[bytes]:
    return [row.tobytes() for row in table.vectors.astype(np.float64) + 0.0]
