"""What every zero-shot classifier of the library shares: the contract towards the user."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from unseen.classes import ClassTable
from unseen.classes.checks import as_names, check_one_kind, check_unmasked
from unseen.classes.table import STRETCH, names_and_counts, places_among
from unseen.errors import InputError, TrustWarning, warn_user
from unseen.estimators.calibration import learn_calibration
from unseen.estimators.candidates import check_scored
from unseen.estimators.scoring import Scoring, on_dask
from unseen.metrics import per_class_accuracy
from unseen.rows.blocks import all_the_same, checked_array, is_dask, row_blocks
from unseen.rows.scaling import ClassScaling, GroupedScaling, RowScaling
from unseen.rows.store import RowStore, store_for
from unseen.storage.checkpoint import Checkpoint, TrainedOn, data_checksum
from unseen.storage.models import save
from unseen.support.parameters import Composite, plain_parameters

# What `fit` has set anew when it begins to learn.
_SET_BY_CHECKS = {"n_features_in_", "feature_names_in_", "class_table_"}
_SET_BY_CHECKS |= {"classes_", "seen_classes_", "unseen_classes_"}

_ORDINARY = (
    "without `classes` each class is described by itself alone, which makes this an ordinary "
    "classifier of the classes in y; give a class table to recognise classes without rows"
)
_SAME = "all training rows are the same: no class can be told from another"
# Methods that a Dask collection is enough for, and what to do for the others.
_ON_DASK = "GaussianMatch, JLSE, KernelJLSE, GFZSL, ESZSL, SAE, EXEM or COSTA(classifier='ridge')"
_WAY_OUT = (
    'bring the rows into memory (X.compute()), or write them (da.to_npy_stack("rows", X)) and '
    'open them (unseen.open_rows("rows/*.npy"))'
)


class ZeroShotClassifier(Scoring, ClassifierMixin, Composite):
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

    Attributes
    ----------
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
    # Whether `fit` learns the temperature of probabilities, which else `calibrate_seen` does.
    fits_temperature: ClassVar[bool] = False
    # Parameters that a fitted model obeys without a new fit: `tune` fits once for all their values.
    test_time_parameters: ClassVar[frozenset[str]] = frozenset()

    # How `_fit` reads rows that are a `RowStore`: in a few passes over "blocks", in "rounds" that
    # read them again and again, or from "memory" alone.
    row_reading: ClassVar[str] = "memory"
    # Whether rows that are read in rounds may also lie on the workers of a Dask cluster.
    fits_on_workers: ClassVar[bool] = False

    feature_names_in_: np.ndarray
    training_data_: dict[str, Any]
    _trained_on: TrainedOn | None = None

    def fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from rows of the seen classes.

        Parameters
        ----------
        X : N x d_t rows. An array, a DataFrame, a memory-mapped array, or a `RowStore`. Methods
            that read rows in blocks, and JLSE, also take a Dask array or DataFrame, see
            docs/scale.md.
        y : N names of classes; None for the labels of a `RowStore`.
        classes : the class table (also a mapping or a DataFrame). Classes without rows are the
            unseen ones. Texts are encoded by TF-IDF, learned from those of the seen classes.
            Without a table each class is described by itself alone (one-hot), which makes this an
            ordinary classifier.
        """
        y = labels_of(X, y)
        given, (X, labels, seen, counts) = X, training_rows(self, X, y)
        if seen.size < 2:
            raise InputError(
                f"the labels name only one class, {str(seen[0])!r}: at least two classes are needed"
            )
        one_hot = classes is None
        table = (
            ClassTable(seen, np.eye(seen.size), seen) if one_hot else ClassTable.of(classes, seen)
        )
        table.check_known(seen, counts)
        for doubt in [*[_ORDINARY] * one_hot, *table.doubts(seen)]:
            warn_user(doubt, TrustWarning)
        self._set_classes(table, seen)
        self._fit_checked(X, numbered(self, X, labels, seen), table.select(seen))
        if is_dask(given):
            return self
        if all_the_same(X):  # some methods refuse them
            warn_user(_SAME, TrustWarning)
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

    def score(self, X: Any, y: Any = None, candidates: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Per-class accuracy: the mean over the classes in y of the share of rows that are right.

        This is the field's measure; on balanced classes it equals the plain accuracy.
        """
        table, y = self._candidates(candidates), labels_of(X, y)
        if is_dask(X):
            return on_dask().score(self, X, _unless_dask(y), table, check_scored)
        check_scored(self, y, table)
        return per_class_accuracy(y, self.predict(X, table))

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
        if not self.seen_classes_.size:
            raise InputError(
                "the model was fitted without rows, so there are no seen classes to learn from: "
                "fit(X, y, classes=table) first"
            )
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

    def _check_state(self) -> None:
        """An error unless what a model file gave fits together: a row goes all the way through."""
        self._check_scalings()
        row = np.linspace(-1.0, 1.0, self.n_features_in_)[None, :]
        table = self.class_table_.select(np.append(self.seen_classes_, self.unseen_classes_[:1]))
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            scores = self._score(row, self._prepare(table))
        if scores.shape != (1, table.n_classes) or not np.isfinite(scores).all():
            raise InputError("its arrays do not fit together")

    def _check_scalings(self) -> None:
        """An array of the wrong shape may fit to the row above, and to no others."""
        rows, descriptions = vars(self).get("scaling_"), vars(self).get("class_scaling_")
        if isinstance(rows, RowScaling):
            rows.check(self.n_features_in_)
        if isinstance(descriptions, (ClassScaling, GroupedScaling)):
            descriptions.check(self.class_table_.n_attributes)

    # -- shared parts ---------------------------------------------------------------------------

    def _set_classes(self, table: ClassTable, seen: np.ndarray) -> None:
        self.class_table_ = table
        self.seen_classes_ = seen
        self.unseen_classes_ = np.setdiff1d(table.names, seen)
        self.classes_ = self.unseen_classes_ if self.unseen_classes_.size else seen

    def _row_blocks(self, X: Any, width: int = 0) -> Any:
        """Blocks of rows, which are no larger if each row becomes `width` numbers."""
        check_is_fitted(self)
        X = checked_rows(self, X, reset=False)
        blocks = row_blocks(X.shape[0], X.itemsize * max(X.shape[1], width))
        return (np.asarray(X[rows]) for rows in blocks)

    def _for_scoring(self) -> Self:
        """This model for others to score rows by, without what only training needs."""
        return copy.copy(self)


class ResumableClassifier(ZeroShotClassifier):
    """A method whose `_fit` keeps its state in `_checkpoint`."""

    _checkpoint_path: str | os.PathLike[str] | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rows of the seen classes, see `ZeroShotClassifier.fit`.

        `checkpoint` is a file that keeps the state of training. A fit that was interrupted or
        killed resumes from it, to the same result, when it is called again with the same data and
        parameters. The file stays: remove it when the model is saved.
        """
        with self._keeping(checkpoint):
            return super().fit(X, y, classes)

    @contextmanager
    def _keeping(self, path: str | os.PathLike[str] | None) -> Iterator[None]:
        """Keep the state of a fit inside this context in the file `path`."""
        self._checkpoint_path = path
        try:
            yield
        finally:
            del self._checkpoint_path

    def _checkpoint(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> Checkpoint:
        """The file of this fit, which is one of this method, these data and parameters."""
        if self._checkpoint_path is None:
            return Checkpoint(None, {})
        belongs = {"method": type(self).__name__, "data": data_checksum(X, labels, table)}
        return Checkpoint(self._checkpoint_path, belongs | plain_parameters(self))


def checked_rows(estimator: Any, X: Any, reset: bool = True) -> Any:
    """Rows that are numbers and have the columns of training: an array, or a store as it is."""
    check_here(X)
    if isinstance(X, RowStore):
        return store_for(estimator, X, reset)
    return checked_array(estimator, X, reset)


def labels_of(X: Any, y: Any) -> Any:
    """The labels given, or those that lie beside the rows of a store."""
    if y is not None or not isinstance(X, RowStore):
        return y
    if X.labels is None and X.unlabelled:
        raise InputError(
            f"y is None, and {X.unlabelled}: open all files of the folder, or give labels to "
            "`open_rows`"
        )
    if X.labels is None:
        raise InputError(
            f"y is None, and {X.name} has no labels inside or beside it; `open_rows` takes them too"
        )
    return X.labels


def check_here(X: Any) -> None:
    """An error for rows of a Dask collection, which would all come here without a word."""
    if is_dask(X):
        raise InputError(f"this takes no Dask collection: {_WAY_OUT}")


def training_rows(
    estimator: ZeroShotClassifier, X: Any, y: Any, reset: bool = True
) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Checked rows, their labels, the names among these in order, and the rows of each."""
    if is_dask(X):
        if estimator.row_reading != "blocks" and not estimator.fits_on_workers:
            raise InputError(
                f"{type(estimator).__name__} needs more of its rows than sums over them, which is "
                f"all that comes back from a Dask collection. Fit {_ON_DASK} on it, or {_WAY_OUT}"
            )
        from unseen.distributed.rows import training_rows as elsewhere

        return elsewhere(estimator, X, _unless_dask(y), reset)
    X = checked_rows(estimator, X, reset)
    labels = as_labels(y.compute() if is_dask(y) else y, X.shape[0])
    return (X, labels, *names_and_counts(labels))


def _unless_dask(y: Any) -> Any:
    """Labels for rows of a Dask collection, checked where they are here."""
    return y if y is None or is_dask(y) else as_labels(y, np.size(y) if np.ndim(y) else 0)


def numbered(estimator: ZeroShotClassifier, X: Any, labels: Any, names: np.ndarray) -> Any:
    """The place of each label among sorted names, in few bytes where rows of a store are only added
    up (`add_up`), so that memory does not grow with them."""
    elsewhere = getattr(labels, "numbers_in", None)
    if elsewhere is not None:
        return elsewhere(names)
    is_summed = isinstance(X, RowStore) and estimator.row_reading == "blocks"
    return places_among(names, labels, np.min_scalar_type(names.size) if is_summed else np.intp)


def as_labels(y: Any, n_rows: int) -> np.ndarray:
    """The class of each row: names or numbers, flat, as many as there are rows."""
    if y is None:
        raise InputError("fit requires y to be passed, but the target y is None")
    if type(y) is not np.ndarray:
        check_unmasked(y, "y")
    if isinstance(y, (list, tuple)):
        check_one_kind(y, "labels")
    # As an array the names would lose the character NUL at their end.
    # A column of pandas as numpy has it: scikit-learn turns its truth values into numbers.
    plain = y if isinstance(y, (list, tuple)) else np.asarray(y)
    y = as_names(y, "labels") if _is_words(y) else column_or_1d(plain, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    labels = y if y.dtype.kind in "biuf" or _are_letters(y) else as_names(y, "labels")
    # Only of floats some are no classes; of others the first stretch tells if they are too many.
    check_classification_targets(labels if labels.dtype.kind == "f" else labels[:STRETCH])
    if labels.size != n_rows:
        raise InputError(f"{n_rows} rows in X but {labels.size} labels in y")
    return labels


def _are_letters(y: np.ndarray) -> bool:
    """Whether an array holds strings, and no number in them that is no letter."""
    if y.dtype.kind != "U" or not y.dtype.isnative or 0 in (y.size, y.itemsize):
        return False
    return bool(np.ascontiguousarray(y).view(np.uint32).max() <= sys.maxunicode)


def _is_words(y: Any) -> bool:
    return isinstance(y, (list, tuple)) and all(isinstance(name, str) for name in y)
