"""What every zero-shot classifier of the library shares: the contract towards the user."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from unseen.classes import ClassTable
from unseen.classes.checks import as_names, check_unmasked
from unseen.errors import InputError, TrustWarning, UnableError
from unseen.estimators.calibration import learn_calibration, probabilities
from unseen.estimators.candidates import candidates_of, check_scored, doubts_of_scores, n_tied
from unseen.estimators.linear_explanation import explain_linear
from unseen.inference.relative import relative_scores
from unseen.metrics import per_class_accuracy
from unseen.rows.blocks import all_the_same, array_blocks, checked_array
from unseen.rows.scaling import ClassScaling, GroupedScaling, RowScaling
from unseen.rows.store import RowStore, store_for
from unseen.storage.checkpoint import TrainedOn
from unseen.storage.models import save
from unseen.support.guarded import guarded
from unseen.support.parameters import Composite, at_least, check_number, check_values

# What `fit` has set anew when it begins to learn.
_SET_BY_CHECKS = {"n_features_in_", "feature_names_in_", "class_table_"}
_SET_BY_CHECKS |= {"classes_", "seen_classes_", "unseen_classes_"}

_ORDINARY = (
    "without `classes` each class is described by itself alone, which makes this an ordinary "
    "classifier of the classes in y; give a class table to recognise classes without rows"
)
_SAME = "all training rows are the same: no class can be told from another"


class TopK(NamedTuple):
    """The best candidates of each row: names and scores, both N x k, best first."""

    names: np.ndarray
    scores: np.ndarray


class Ranking(NamedTuple):
    """The rows that fit one class best: row numbers and scores, best first."""

    rows: np.ndarray
    scores: np.ndarray


class ZeroShotClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, Composite
):
    """A classifier of classes that need not have a single training row.

    A method gives three functions, and the base does the rest:

    - `_fit(X, labels, table)`: learn from rows X (N x d_t), `labels` being row numbers of `table`,
      which holds the seen classes only;
    - `_row_codes(X)`: embed a block of rows; without it V'x̃ (+ b), by `scaling_`, `weights_` (and
      `bias_`);
    - `_class_codes(table)`: embed class descriptions; without it they are scaled by
      `class_scaling_`.

    The score is the inner product of the two codes. A method in which it is something else gives
    `_prepare(table)`, done once for the candidates, and `_score(X, prepared)` (n x C') instead.
    Its parameters are fields of the class, see `support/parameters.py`.

    Attributes after `fit`
    ----------------------
    classes_ : the default candidates: the unseen classes if there are any, else the seen ones.
    seen_classes_, unseen_classes_ : classes of the table with and without training rows.
    class_table_ : the table of all of them.
    training_data_ : how many rows and columns were trained on; a model file also has the checksum
        of the data, if they are still there when it is written.
    seen_penalty_, temperature_ : what `calibrate_seen` has learned.
    """

    # Whether it learns from rows at all.
    needs_rows: ClassVar[bool] = True
    # A module that fitting imports and that only an extra installs.
    needs: ClassVar[str] = ""
    # Whether seen classes fit better than unseen ones for no other reason than having been seen.
    needs_calibration: ClassVar[bool] = True
    # Parameters that a fitted model obeys without a new fit: `tune` fits once for all their values.
    test_time_parameters: ClassVar[frozenset[str]] = frozenset()

    # How `_fit` reads rows that are a `RowStore`: in a few passes over "blocks", in "rounds" that
    # read them again and again, or from "memory" alone.
    row_reading: ClassVar[str] = "memory"

    n_features_in_: int
    feature_names_in_: np.ndarray
    class_table_: ClassTable
    classes_: np.ndarray
    seen_classes_: np.ndarray
    unseen_classes_: np.ndarray
    training_data_: dict[str, Any]
    seen_penalty_: float
    temperature_: float
    scaling_: RowScaling
    class_scaling_: ClassScaling | GroupedScaling
    weights_: np.ndarray
    bias_: np.ndarray
    _trained_on: TrainedOn | None = None

    def fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from rows of the seen classes.

        Parameters
        ----------
        X : N x d_t rows. An array, a DataFrame, a memory-mapped array, or a `RowStore`.
        y : N names of classes; None for the labels of a `RowStore`.
        classes : the class table (also a mapping or a DataFrame). Classes without rows are the
            unseen ones. Texts are encoded by TF-IDF, learned from those of the seen classes.
            Without a table each class is described by itself alone (one-hot), which makes this an
            ordinary classifier.
        """
        y = labels_of(X, y)
        given, X = X, checked_rows(self, X)
        labels = as_labels(y, X.shape[0])
        seen = np.unique(labels)
        if seen.size < 2:
            raise InputError(
                f"the labels name only one class, {str(seen[0])!r}: at least two classes are needed"
            )
        one_hot = classes is None
        table = (
            ClassTable(seen, np.eye(seen.size), seen) if one_hot else ClassTable.of(classes, seen)
        )
        table.rows(labels)
        for doubt in [*[_ORDINARY] * one_hot, *table.doubts(seen)]:
            warnings.warn(doubt, TrustWarning, stacklevel=2)
        self._set_classes(table, seen)
        self._fit_checked(X, np.searchsorted(seen, labels), table.select(seen))
        if all_the_same(X):  # some methods refuse them
            warnings.warn(_SAME, TrustWarning, stacklevel=2)
        self._trained_on = TrainedOn(given, y, X.dtype, table)
        return self

    def _fit_checked(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> Self:
        """Learn from checked rows, numbers of classes (or signs of pairs), and the seen table."""
        if np.ptp(table.vectors, axis=0).max() == 0:
            raise InputError(
                "all classes (or sources) of training are described by the same vector: nothing "
                "can be learned from them"
            )
        self._check_parameters()
        for name in set(vars(self)) - _SET_BY_CHECKS:
            if name.endswith("_"):  # learned in an earlier fit
                delattr(self, name)
        self._trained_on = None
        rows, columns = X.shape
        self.training_data_ = {"rows": rows, "columns": columns}
        self._fit(self._readable(X), labels, table)
        # As in a model file: the last bits of a sum depend on the layout of its array.
        for name, value in vars(self).items():
            if name.endswith("_") and isinstance(value, np.ndarray):
                setattr(self, name, np.ascontiguousarray(value))
        return self

    def _readable(self, X: Any) -> Any:
        """Rows as `_fit` can read them: a store that is read again and again is made fast, and a
        method that needs all rows at once gets an array."""
        if not isinstance(X, RowStore) or self.row_reading == "blocks":
            return X
        if self.row_reading == "rounds":
            return X.spooled()
        try:
            return X.in_memory()
        except InputError as error:
            raise InputError(
                f"{type(self).__name__} needs all rows in memory: {error}; GaussianMatch, for one, "
                "reads rows in blocks"
            ) from error

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
        for scores in self._score_blocks(X, table):
            best.append(scores.argmax(axis=1))
            tied += n_tied(scores)
            if reject is not None:
                sure.append(probabilities(scores, self._temperature()).max(axis=1))
        names = table.names[np.concatenate(best)]
        for doubt in doubts_of_scores(tied, names.size):
            warnings.warn(doubt, TrustWarning, stacklevel=2)
        if reject is not None:
            names = names.astype(object)
            names[np.concatenate(sure) < reject] = None
        return names

    @guarded(lambda model: model._check_probable())
    def predict_proba(self, X: Any, candidates: Any = None) -> np.ndarray:
        """The probability of each candidate, N x C', if it is one of them; columns as they are.

        softmax(scores / T), where `calibrate_seen` learns the temperature T from classes held out
        of training, so that of the rows it is sure of by 0.8 about 80 % are right.
        """
        return probabilities(self.similarities(X, candidates), self._temperature())

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
        return np.concatenate(list(self._score_blocks(X, self._candidates(candidates))))

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
        return self._rank(lambda table: self.similarities(X, table), [name], k, against)

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of rows in which they are compared with classes, N x h."""
        return np.concatenate([self._row_codes(block) for block in self._row_blocks(X)])

    def transform_classes(self, classes: Any = None) -> np.ndarray:
        """The embedding of classes (candidates as in `predict`) in the order of the candidates."""
        return self._class_codes(self._candidates(classes))

    def score(self, X: Any, y: Any = None, candidates: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Per-class accuracy: the mean over the classes in y of the share of rows that are right.

        This is the field's measure; on balanced classes it equals the plain accuracy.
        """
        table, y = self._candidates(candidates), labels_of(X, y)
        check_scored(self, y, table)
        return per_class_accuracy(y, self.predict(X, table))

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
        kind, base = type(self), ZeroShotClassifier
        parts = ("_prepare", "_score", "_gallery_codes", "_gallery_scores")
        if any(getattr(kind, part) is not getattr(base, part) for part in parts):
            raise UnableError(
                f"{kind.__name__} gives no reasons: its scores do not come apart into those of "
                "attributes or of seen classes; GaussianMatch, JLSE and ESZSL are some that do"
            )

    def reveal(self, classes: Any) -> Self:
        """Returns a new model that knows more classes, without training; this one stays as it is.

        The new classes join the unseen ones, which are then the default candidates. Where classes
        are described by text, so are new ones: `{name: text}`.
        """
        check_is_fitted(self)
        revealed = copy.copy(self)
        revealed._trained_on = self._trained_on
        known = self.class_table_
        revealed._set_classes(known.merge(known.encode(classes)), self.seen_classes_)
        return revealed

    def calibrate_seen(self, X: Any, y: Any = None, random_state: int = 0) -> Self:
        """Learn from seen classes held out; returns this model.

        `seen_penalty_` is what seen classes lose where they compete with unseen ones: trained rows
        fit the classes they were trained on better than any unseen class, so without this nearly
        all rows are called seen. `temperature_` makes probabilities of scores (`predict_proba`).
        X and y are the training data: three copies of the model are trained, each without a fifth
        of the classes and of the rows of the others, which takes about twice as long as `fit`.
        """
        check_is_fitted(self)
        y = labels_of(X, y)
        X = checked_rows(self, X, reset=False)
        seen = self.class_table_.select(self.seen_classes_)
        labels = as_labels(y, X.shape[0])
        seen.rows(labels)
        found = learn_calibration(self, X, labels, seen, random_state)
        self.seen_penalty_, self.temperature_ = found
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; `unseen.load` reads it. The file holds no code."""
        save(self, path)

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` has; scikit-learn names them by it."""
        return self._row_codes(np.zeros((1, self.n_features_in_))).shape[1]

    @classmethod
    def default_grid(cls) -> dict[str, Any]:
        """The parameters worth tuning, with a list of values or a range to draw them from."""
        return dict(cls._grid)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_trained_on"}

    # -- what a method gives --------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit")

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        codes = self.scaling_(X) @ self.weights_.astype(X.dtype, copy=False)
        if "bias_" in vars(self):
            codes += self.bias_.astype(X.dtype, copy=False)
        return codes

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self.class_scaling_(table.vectors)

    def _check_state(self) -> None:
        """An error unless what a model file gave fits together: a row goes all the way through."""
        row = np.linspace(-1.0, 1.0, self.n_features_in_)[None, :]
        table = self.class_table_.select(np.append(self.seen_classes_, self.unseen_classes_[:1]))
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            scores = self._score(row, self._prepare(table))
        if scores.shape != (1, table.n_classes) or not np.isfinite(scores).all():
            raise InputError("its arrays do not fit together")

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

    def _set_classes(self, table: ClassTable, seen: np.ndarray) -> None:
        self.class_table_ = table
        self.seen_classes_ = seen
        self.unseen_classes_ = np.setdiff1d(table.names, seen)
        self.classes_ = self.unseen_classes_ if self.unseen_classes_.size else seen

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

    def _row_blocks(self, X: Any) -> Any:
        check_is_fitted(self)
        X = checked_rows(self, X, reset=False)
        return (np.asarray(X[rows]) for rows in array_blocks(X))

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

    def _score_blocks(self, X: Any, table: ClassTable) -> Any:
        return self._scores_of(self._row_blocks(X), self._score, table)

    def _scores_of(self, blocks: Any, score: Callable[[Any, Any], np.ndarray], table: Any) -> Any:
        """The scores of blocks of rows, or of what an index keeps of them."""
        prepared = self._prepare(table)
        penalties = self._penalties(table)
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


def checked_rows(estimator: Any, X: Any, reset: bool = True) -> Any:
    """Rows that are numbers and have the columns of training: an array, or a store as it is."""
    if isinstance(X, RowStore):
        return store_for(estimator, X, reset)
    return checked_array(estimator, X, reset)


def labels_of(X: Any, y: Any) -> Any:
    """The labels given, or those that lie beside the rows of a store."""
    return X.labels if y is None and isinstance(X, RowStore) else y


def as_labels(y: Any, n_rows: int) -> np.ndarray:
    if y is None:
        raise InputError("fit requires y to be passed, but the target y is None")
    if isinstance(y, np.ma.MaskedArray):
        check_unmasked(y, "y")
    # As an array the names would lose the character NUL at their end.
    y = as_names(y, "labels") if _is_words(y) else column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    labels = y if y.dtype.kind in "Ubiuf" else as_names(y, "labels")
    check_classification_targets(labels)
    if labels.size != n_rows:
        raise InputError(f"{n_rows} rows in X but {labels.size} labels in y")
    return labels


def _is_words(y: Any) -> bool:
    return isinstance(y, (list, tuple)) and all(isinstance(name, str) for name in y)


def checked_k(k: int, most: int, what: str) -> int:
    check_values({"k": [at_least(1)]}, {"k": k})
    if k > most:
        raise InputError(f"k={k} is more than the {most} {what} there are")
    return int(k)


def one_row(x: Any) -> Any:
    """One row as a table of one row; names of columns are kept."""
    if np.ndim(x) == 1:
        return x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
    if np.ndim(x) != 2 or len(x) != 1:
        raise InputError(f"explain takes one row, not an array of shape {np.shape(x)}")
    return x
