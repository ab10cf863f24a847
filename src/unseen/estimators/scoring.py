"""What a fitted model answers: names, scores, rankings, embeddings and reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unseen.classes import ClassTable
from unseen.classes.checks import check_unmasked
from unseen.errors import InputError, TrustWarning, UnableError, counted, require, warn_user
from unseen.estimators.candidates import (
    candidates_of,
    check_one_class,
    doubts_of_scores,
    n_tied,
)
from unseen.estimators.linear_explanation import explain_linear
from unseen.inference.relative import probabilities, relative_scores
from unseen.rows.blocks import check_no_path, is_dask
from unseen.rows.scaling import ClassScaling, GroupedScaling, RowScaling
from unseen.support.guarded import guarded
from unseen.support.parameters import at_least, check_number, check_values


class TopK(NamedTuple):
    """The best candidates of each row: names and scores, both N x k, best first."""

    names: np.ndarray
    scores: np.ndarray

    def to_frame(self) -> Any:
        """A line for each row and place as a pandas DataFrame (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        n_rows, k = self.names.shape
        where = [range(n_rows), range(1, k + 1)]
        found = {"name": np.ravel(self.names), "score": np.ravel(self.scores)}
        return pandas.DataFrame(
            found, index=pandas.MultiIndex.from_product(where, names=["row", "place"])
        )


class Ranking(NamedTuple):
    """The rows that fit one class best: row numbers and scores, best first."""

    rows: np.ndarray
    scores: np.ndarray

    def to_frame(self) -> Any:
        """A line for each row as a pandas DataFrame, best first (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        places = pandas.RangeIndex(1, len(self.rows) + 1, name="place")
        return pandas.DataFrame({"row": self.rows, "score": self.scores}, index=places)


class Scoring(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Answers of a model by the scores of rows with candidates, a block of rows at a time.

    `_row_blocks` gives checked blocks of rows. The rest of what it needs is learned by `fit`, see
    `ZeroShotClassifier`, which tells what a method gives.
    """

    n_features_in_: int
    class_table_: ClassTable
    classes_: np.ndarray
    seen_classes_: np.ndarray
    unseen_classes_: np.ndarray
    seen_penalty_: float
    temperature_: float
    scaling_: RowScaling
    class_scaling_: ClassScaling | GroupedScaling
    weights_: np.ndarray
    bias_: np.ndarray

    def predict(self, X: Any, candidates: Any = None, reject: float | None = None) -> np.ndarray:
        """The name of the best candidate for each row.

        `candidates`: None for `classes_`, "all", "seen" or "unseen", a list of names, or a class
        table of classes that need not be known before.
        `reject`: a row whose best candidate has a smaller probability (`predict_proba`) than this
        gets None, for none of these.
        """
        table, best, sure, tied = self._candidates(candidates), [], [], 0
        if reject is not None:
            check_number(reject, "reject", 0, 1)
            self._check_probable()
        if is_dask(X):
            return on_dask().predict(self, X, table, reject)
        for scores in self._score_blocks(X, table):
            best.append(scores.argmax(axis=1))
            tied += n_tied(scores, best[-1])
            if reject is not None:
                sure.append(probabilities(scores, self._temperature()).max(axis=1))
        names = table.names[np.concatenate(best)]
        for doubt in doubts_of_scores(tied, names.size):
            warn_user(doubt, TrustWarning)
        if reject is not None:
            names = names.astype(object)
            names[np.concatenate(sure) < reject] = None
        return names

    @guarded(lambda model: model._check_probable())
    def predict_proba(self, X: Any, candidates: Any = None) -> np.ndarray:
        """The probability of each candidate, N x C', if it is one of them; columns as they are.

        softmax(scores / T), where `calibrate_seen`, and for `GaussianMatch` the fit, learns the
        temperature T from classes held out, so that of the rows that it is sure of by 0.8 about
        80 % are right.
        """
        scores: Any = self.similarities(X, candidates)
        if is_dask(X):
            return scores.map_blocks(probabilities, self._temperature(), dtype=scores.dtype)
        return probabilities(scores, self._temperature())

    def _check_probable(self) -> None:
        """An error unless scores can become probabilities."""
        if self._temperature() is None:
            raise UnableError(
                f"scores of {type(self).__name__} become probabilities by classes held out of "
                "training: call calibrate_seen(X, y) with the training rows first, or use "
                "'unseen fit --calibrate'"
            )

    def _temperature(self) -> Any:
        return vars(self).get("temperature_")

    def similarities(self, X: Any, candidates: Any = None) -> np.ndarray:
        """The score of each row with each candidate, always N x C'; columns follow `candidates`."""
        table = self._candidates(candidates)
        if is_dask(X):
            return on_dask().similarities(self, X, table)
        return np.concatenate(list(self._score_blocks(X, table)))

    def decision_function(self, X: Any, candidates: Any = None) -> np.ndarray:
        """`similarities` by the convention of scikit-learn.

        With exactly two candidates it is one column: the score of the second minus the first.
        """
        scores = self.similarities(X, candidates)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def top_k(self, X: Any, k: int = 5, candidates: Any = None) -> TopK:
        """The k best candidates of each row with their scores, best first."""
        table = self._candidates(candidates)
        k = checked_k(k, table.n_classes, "candidates")
        if is_dask(X):
            return TopK(*on_dask().top_k(self, X, k, table))
        names, scores = [], []
        for block in self._score_blocks(X, table):
            best = np.argsort(-block, axis=1, kind="stable")[:, :k]
            names.append(table.names[best])
            scores.append(np.take_along_axis(block, best, axis=1))
        return TopK(np.concatenate(names), np.concatenate(scores))

    def rank(self, name: Any, X: Any, k: int | None = None, against: Any = None) -> Ranking:
        """Retrieval: the rows of X that fit the class `name` best, all of them or the first k.

        With `against` (candidates as in `predict`, such as "unseen") those compete for the rows: a
        row that fits another of them better comes later, which finds more where classes are alike.
        """
        if np.ndim(name) and not np.ndim(X):
            raise InputError("rank takes the name of a class first and the rows second")
        check_one_class(name)
        if is_dask(X):
            return self._rank_on_dask([name], X, k, against)
        return self._rank(lambda table: self.similarities(X, table), [name], k, against)

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of rows in which they are compared with classes, N x h."""
        check_is_fitted(self)
        if is_dask(X):
            return on_dask().transform(self, X)
        return np.concatenate([self._row_codes(block) for block in self._row_blocks(X)])

    def transform_classes(self, classes: Any = None) -> np.ndarray:
        """The embedding of classes (candidates as in `predict`) in the order of the candidates."""
        return self._class_codes(self._candidates(classes))

    @guarded(lambda model: model._check_explains())
    def explain(self, x: Any, name: Any = None, top: int = 5) -> Any:
        """Why the row x is, or is not, of the class `name`: seen classes and attributes.

        Without a name the class is the one that x is predicted to be of. What comes back prints as
        text, and has `tables()`. A method whose score is no inner product of two codes, and that
        has no way of its own, gives no reasons.
        """
        x = one_row(x)
        name = self.predict(x)[0] if name is None else name
        table = self._candidates([name])
        row = np.concatenate(list(self._row_blocks(x)))
        score = float(self.similarities(x, [name])[0, 0])
        return explain_linear(self, row, table, score, top)

    def _check_explains(self) -> None:
        """An error unless the score is r'c of `_row_codes` and `_class_codes`."""
        kind, base = type(self), Scoring
        parts = ("_prepare", "_score", "_gallery_codes", "_gallery_scores")
        if any(getattr(kind, part) is not getattr(base, part) for part in parts):
            raise UnableError(
                f"{kind.__name__} gives no reasons: its scores do not come apart into those of "
                "attributes or of seen classes; GaussianMatch, JLSE and ESZSL are some that do"
            )

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` has; scikit-learn names them by it."""
        return self._row_codes(np.zeros((1, self.n_features_in_))).shape[1]

    # -- what a method may give ------------------------------------------------------------------

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        codes = self.scaling_(X) @ self.weights_.astype(X.dtype, copy=False)
        if "bias_" in vars(self):
            codes += self.bias_.astype(X.dtype, copy=False)
        return codes

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self.class_scaling_(table.vectors)

    def _prepare(self, table: ClassTable) -> Any:
        return self._class_codes(table)

    def _score(self, X: np.ndarray, prepared: Any) -> np.ndarray:
        return self._gallery_scores(self._gallery_codes(X), prepared)

    def _gallery_codes(self, X: np.ndarray) -> np.ndarray:
        """What an index keeps of a block of rows: all that scores need to know of them."""
        return self._row_codes(X)

    def _gallery_scores(self, codes: np.ndarray, prepared: Any) -> np.ndarray:
        """The scores of rows, n x C', by what an index keeps of them."""
        return codes @ prepared.T.astype(codes.dtype, copy=False)

    def _gallery_vectors(self, codes: np.ndarray) -> np.ndarray:
        """Vectors of rows for an approximate search, by what an index keeps of them."""
        return codes

    def _gallery_queries(self, prepared: Any) -> np.ndarray | None:
        """Vectors of classes whose inner product with those of rows ranks rows as the score does,
        or nearly; None if there are none."""
        return prepared

    # -- shared parts ---------------------------------------------------------------------------

    def _row_blocks(self, X: Any, width: int = 0) -> Any:
        raise NotImplementedError

    def _candidates(self, candidates: Any) -> ClassTable:
        check_is_fitted(self)
        return candidates_of(self, candidates)

    def _number_if_seen(self, table: ClassTable) -> np.ndarray:
        """The number of each class in training, -1 for others and for one described anew."""
        known = self.class_table_.select(self.seen_classes_).vectors
        number = np.searchsorted(self.seen_classes_, table.names)
        number = np.minimum(number, self.seen_classes_.size - 1)
        is_seen = self.seen_classes_[number] == table.names
        is_seen &= np.isclose(table.vectors, known[number]).all(axis=1)
        return np.where(is_seen, number, -1)

    def _rank(
        self, similarities: Callable[[ClassTable], np.ndarray], wanted: Any, k: Any, against: Any
    ) -> Ranking:
        """`rank` of one class by scores of all rows with a table of candidates."""
        if against is None:
            scores = similarities(self._candidates(wanted))[:, 0]
        else:
            scores = relative_scores(similarities(self._against(wanted, against)))[:, 0]
        k = scores.size if k is None else checked_k(k, scores.size, "rows")
        best = np.argsort(-scores, kind="stable")[:k]
        return Ranking(best, scores[best])

    def _rank_on_dask(self, wanted: Any, X: Any, k: Any, against: Any) -> Ranking:
        is_relative = against is not None
        table = self._against(wanted, against) if is_relative else self._candidates(wanted)
        if k is not None:
            checked_k(k, sys.maxsize, "rows")
        best = on_dask().rank(self, X, table, k, is_relative)
        if k is not None:
            checked_k(k, best.n_rows, "rows")
        return Ranking(best.rows, best.scores)

    def _score_blocks(self, X: Any, table: ClassTable) -> Any:
        return self._scores_of(self._row_blocks(X, table.n_classes), self._score, table)

    def _scores_of(self, blocks: Any, score: Callable[[Any, Any], np.ndarray], table: Any) -> Any:
        """The scores of blocks of rows, or of what an index keeps of them."""
        return self._scored(blocks, score, self._prepare(table), self._penalties(table))

    def _scored(self, blocks: Any, score: Any, prepared: Any, penalties: Any) -> Any:
        for block in blocks:
            scores = score(block, prepared)
            if penalties is not None:
                scores -= penalties.astype(scores.dtype)
            yield scores

    def _penalties(self, table: ClassTable) -> np.ndarray | None:
        """What `calibrate_seen` takes off each candidate; None where all or none are seen."""
        penalty = vars(self).get("seen_penalty_", 0.0)
        is_seen = np.isin(table.names, self.seen_classes_) if penalty else np.zeros(1, bool)
        return penalty * is_seen if is_seen.any() and not is_seen.all() else None

    def _against(self, wanted: Any, against: Any) -> ClassTable:
        """One class first, and then those that compete with it for rows."""
        table = self._candidates(wanted)
        rivals = self._candidates(against)
        others = rivals.names[rivals.names != table.names[0]]
        if not others.size:
            raise InputError(
                f"no class competes with {str(table.names[0])!r}: give `against` others too, "
                "or leave it out"
            )
        return table.merge(rivals.select(others))


def on_dask() -> Any:
    """What answers for rows of a Dask collection."""
    from unseen.distributed import scoring

    return scoring


def checked_k(k: int, most: int, what: str) -> int:
    check_values({"k": [at_least(1)]}, {"k": k})
    if k > most:
        there = f"{counted(most, what.removesuffix('s'))} there {'is' if most == 1 else 'are'}"
        raise InputError(f"k={k} is more than the {there}")
    return int(k)


def one_row(x: Any) -> Any:
    """One row as a table of one row; names of columns are kept."""
    if is_dask(x):
        raise InputError("explain takes one row that is here, not a Dask collection: x.compute()")
    check_no_path(x)
    check_unmasked(x, "x")
    if np.ndim(x) == 1:
        return x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
    if np.ndim(x) != 2 or len(x) != 1:
        raise InputError(f"explain takes one row, not an array of shape {np.shape(x)}")
    return x
