"""GaussianMatch: the general model with Gaussian terms, whose posterior is exact.

A member of the family of Eq. (gen_p) of the paper; a relative of Verma and Rai, "A simple
exponential family framework for zero-shot learning", ECML 2017.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from unseen.classes import ClassTable
from unseen.classes.checks import Group, as_names
from unseen.errors import InputError
from unseen.estimators.base import labels_of, numbered, training_rows
from unseen.estimators.match_explanation import MatchExplanation, explain_match
from unseen.estimators.match_temperature import learn_temperature
from unseen.estimators.matching import as_sources
from unseen.estimators.scaled import MeanPredictor
from unseen.estimators.scoring import one_row
from unseen.model.gaussian import ClassTerms, Posterior, median_square
from unseen.rows.moments import Moments
from unseen.rows.scaling import ClassScaling, GroupedScaling, RowScaling
from unseen.support.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    check_number,
    has_parameters,
    parameter,
)
from unseen.support.work import threads_for
from unseen.training.gaussian import (
    Directions,
    Settings,
    find_directions,
    fit_posterior,
    weigh_tables,
)
from unseen.training.logistic import narrowed

# Rows wider than this are first given in a basis of their span, if they are fewer than columns.
_WIDEST = 8192
_MOST_KEPT = 8


@has_parameters
class GaussianMatch(MeanPredictor):
    """Is this row around the mean that the description of the class predicts, or is it any row?

        F(s, x) = log p(z; μ(s), I + κ v(s)) - log p(z; 0, I + β),     z = A'x̃ - A'x̄

    Rows are seen in the directions A in which the means of classes differ, with covariance I within
    a class. The mean of a class is a Gaussian process over descriptions: near that of seen classes
    with a similar description, and uncertain by v(s) where there are none. F is a log-likelihood
    ratio, so scores compare from row to row and from class to class, and probabilities follow from
    it. The fit is a closed form of counts, sums and products of the rows: one pass over them, in
    any number of batches (`partial_fit`).

    Parameters
    ----------
    shrinkage : a, how far the covariance within classes is drawn to a multiple of I. None is
        0.75 / (1 + N / 10 d) for N rows of d columns: less where there are rows to know it by.
    misfit : τ, the share of a mean's variance that no description tells.
    width : of the Gaussian class kernel, in units of the median distance of two seen classes.
    stretch : what is known too little pulls a predicted mean to zero; with 1 all of them get the
        length that means of seen classes have, with 0 they stay as they are.
    spread : κ; 1 is the posterior, 0 takes the predicted mean for the true one.
    tails : ν, degrees of freedom of Student's t; None for Gaussians.

    Attributes
    ----------
    posterior_ : the `Posterior`.
    temperature_ : T of `predict_proba`, by classes held out of the means (four at the least).
        `partial_fit` learns it from its last batch that has half of the classes.
    table_weights_ : how much each description counts where classes have several side by side
        (`ClassTable.beside`): what predicts the mean of a seen class best from the others.
    moments_ : the `Moments` of all training rows. None of rows of more than 8,192
        columns that are fewer than these.
    """

    needs_calibration: ClassVar[bool] = False
    fits_temperature: ClassVar[bool] = True
    row_reading = "blocks"

    shrinkage: float | None = parameter(None, SHARE, None, tries=[None, 0.1, 0.3, 0.6, 0.85])
    misfit: float = parameter(0.02, POSITIVE, tries=[0.01, 0.02, 0.05, 0.2])
    width: float = parameter(1.0, POSITIVE, tries=[0.7, 1.0, 1.5])
    stretch: float = parameter(0.6, SHARE)
    spread: float = parameter(0.0, NOT_NEGATIVE, tries=[0.0, 0.3, 1.0])
    tails: float | None = parameter(30.0, POSITIVE, None)

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.scaling_ = self._part("row_scaler").learn(X)
        with threads_for(float(X.size) * X.shape[1]):
            if X.shape[1] > max(_WIDEST, X.shape[0]):
                rows, scaling, basis = narrowed(X, self.scaling_)
                moments = Moments.of(rows, labels, table.n_classes, scaling)
                self._solve(moments, table, X.dtype, basis)
                self._learn_temperature(X, labels, table)
                return
            moments = Moments.of(X, labels, table.n_classes, self.scaling_)
            self._solve(moments, table, X.dtype)
            self._learn_temperature(X, labels, table)
        self.moments_ = moments

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from further rows; in the end all is as if all rows had come at once.

        The first call needs the class table, or the names of all classes, each of which is then
        described by itself alone; a later one may bring a table of more classes. Rows may be of new
        classes of the table. The first batch decides on the scaling of the rows. A model that `fit`
        made, or that was loaded from a file, goes on as well.
        """
        is_first = "moments_" not in vars(self)
        if is_first and "posterior_" in vars(self):
            raise InputError(
                f"rows of more than {_WIDEST:,} columns were fitted in a basis of their span, "
                "in which further rows do not lie: fit all rows at once"
            )
        y = labels_of(X, y)
        X, labels, found, counts = training_rows(self, X, y, reset=is_first)
        if is_first:
            self._check_parameters()
            if classes is None:
                raise InputError("the first call of partial_fit needs the class table, `classes`")
            if isinstance(classes, (list, np.ndarray)):
                names = as_names(np.unique(classes), "classes")
                classes = ClassTable(names, np.eye(names.size), names)
            seen = found
            table = ClassTable.of(classes, seen)
        else:
            table = self.class_table_
            if classes is not None:
                table = table.merge(table.encode(classes))
            seen = np.union1d(self.seen_classes_, found)
        table.check_known(found, counts)
        if is_first:
            self.scaling_ = self._part("row_scaler").learn(X)
            moments = Moments.empty(seen.size, X.shape[1])
        else:
            before = np.searchsorted(seen, self.seen_classes_)
            moments = self.moments_.with_classes(before, seen.size)
        labels = numbered(self, X, labels, seen)
        moments.add(X, labels, self.scaling_)
        self._set_classes(table, seen)
        self._trained_on = None
        n_rows = int(moments.counts.sum())
        self.training_data_ = {"rows": n_rows, "columns": X.shape[1]}
        self.moments_ = moments
        if seen.size > 1:
            self._solve(moments, table.select(seen), X.dtype)
            # `calibrate_seen` learns both; rows of few classes tell less than those before.
            tells = "temperature_" not in vars(self) or 2 * found.size >= seen.size
            if tells and "seen_penalty_" not in vars(self):
                self._learn_temperature(X, labels, table.select(seen))
        return self

    def _solve(
        self, moments: Moments, table: ClassTable, dtype: Any, basis: np.ndarray | None = None
    ) -> None:
        found = find_directions(moments, self.shrinkage, dtype, basis)
        settings = self._settings()
        S = table.vectors.astype(np.float64)
        scaler = self._part("class_scaler")
        if table.groups is None:
            self.class_scaling_ = scaler.learn(S)
        else:
            self.class_scaling_ = self._grouped_scaling(S, table.groups, found, settings)
        self.posterior_ = fit_posterior(found, self.class_scaling_(S), settings)
        self._kept, self._last = {}, []

    def _settings(self) -> Settings:
        return Settings(self.misfit, self.width, self.stretch, self.spread, self.tails)

    def _learn_temperature(self, X: Any, labels: np.ndarray, table: ClassTable) -> None:
        S = self.class_scaling_(table.vectors.astype(np.float64))
        found = learn_temperature(self, X, labels, S, self._settings())
        if found is not None:
            self.temperature_ = found

    def _grouped_scaling(
        self, S: np.ndarray, groups: tuple[Group, ...], found: Directions, settings: Settings
    ) -> GroupedScaling:
        """Each description by itself, in units of its median distance, by its learned weight."""
        parts = [S[:, group.columns] for group in groups]
        for group, columns in zip(groups, parts, strict=True):
            if np.ptp(columns, axis=0).max() == 0:
                raise InputError(
                    f"the group {group.name!r} of the class table describes every seen class by "
                    "the same vector: leave it out"
                )
        scalings = [self._part("class_scaler").learn(columns) for columns in parts]
        scaled = [scaling(columns) for scaling, columns in zip(scalings, parts, strict=True)]
        units = [np.sqrt(median_square(columns)) for columns in scaled]
        tables = [columns / unit for columns, unit in zip(scaled, units, strict=True)]
        weights = weigh_tables(found, tables, settings)
        names = [group.name for group in groups]
        self.table_weights_ = dict(zip(names, weights.tolist(), strict=True))
        factors = np.sqrt(weights) / units
        return GroupedScaling(scalings, [group.first for group in groups], factors.tolist())

    # -- test time ------------------------------------------------------------------------------

    def _prepare(self, table: ClassTable) -> ClassTerms:
        """Means of the candidates; those of the last few calls are kept, for single rows."""
        last: list[Any] = vars(self).setdefault("_last", [])
        found = last[0] if last else None  # one look, as there may be threads
        if found and found[0] is table and found[1] is self.posterior_:
            return found[2]  # a table does not change
        check_is_fitted(self, "posterior_", msg="rows of at least two classes are needed first")
        kept: dict[Any, ClassTerms] = vars(self).setdefault("_kept", {})
        key = table.names.tobytes(), table.vectors.tobytes()
        if key not in kept:
            while len(kept) >= _MOST_KEPT:
                kept.pop(next(iter(kept)))
            S = self.class_scaling_(table.vectors.astype(np.float64))
            kept[key] = self.posterior_.class_terms(S, self._number_if_seen(table))
        last[:] = [(table, self.posterior_, kept[key])]
        return kept[key]

    def _gallery_codes(self, X: np.ndarray) -> np.ndarray:
        return self.posterior_.gallery_codes(self._row_codes(X))

    def _gallery_scores(self, codes: np.ndarray, prepared: ClassTerms) -> np.ndarray:
        return self.posterior_.gallery_scores(codes, prepared)

    def _gallery_vectors(self, codes: np.ndarray) -> np.ndarray:
        return self.posterior_.gallery_vectors(codes)

    def _gallery_queries(self, prepared: ClassTerms) -> np.ndarray | None:
        if self.posterior_.spread:
            return None  # squares of codes count then, by class
        return np.pad(prepared.mean, ((0, 0), (0, 1)), constant_values=1.0)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self.posterior_.codes(self.scaling_(X))

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self._prepare(table).mean

    def _temperature(self) -> float:
        """One where classes are too few to tell: scores are log-likelihood ratios."""
        return vars(self).get("temperature_", 1.0)

    def score_pairs(self, S: Any, X: Any) -> np.ndarray:
        """F of every description (C' x d_s, or a class table) with every row, N' x C'."""
        return self.similarities(X, as_sources(S)[0])

    def predict_pairs(self, S: Any, X: Any, threshold: float = 0.0) -> np.ndarray:
        """+1 where F ≥ θ and -1 elsewhere (Eq. 1), N' x C'; 0 is Bayes' threshold at equal odds."""
        return np.where(self.score_pairs(S, X) >= threshold, 1, -1)

    def pair_probabilities(self, S: Any, X: Any, prior: float = 0.5) -> np.ndarray:
        """The probability of a match of every pair, N' x C': σ(F / T + logit(prior)), of which
        `prior` is the share that match."""
        check_number(prior, "prior", 0, 1)
        scores = self.score_pairs(S, X)
        scores /= scores.dtype.type(self._temperature())
        return expit(scores + scores.dtype.type(logit(prior)))

    def explain(self, x: Any, name: Any = None, top: int = 5) -> MatchExplanation:
        """Why the row x is, or is not, of the class `name`: seen classes, directions, attributes.

        Without a name the class is the one that x is predicted to be of.
        """
        x = one_row(x)
        name = self.predict(x)[0] if name is None else name
        table = self._candidates([name])
        row = np.concatenate(list(self._row_blocks(x)))
        return explain_match(
            str(name),
            float(self.similarities(x, [name])[0, 0]),
            self._row_codes(row)[0].astype(np.float64),
            self._prepare(table),
            self.posterior_,
            self.class_scaling_,
            table.vectors[0].astype(np.float64),
            self.class_table_.select(self.seen_classes_),
            top,
            self._temperature(),
        )

    def _for_scoring(self) -> Self:
        light = super()._for_scoring()
        for name in ("moments_", "_kept", "_last"):
            vars(light).pop(name, None)
        return light

    def _check_state(self) -> None:
        n_classes, vectors = self.seen_classes_.size, self.class_table_.vectors
        if not isinstance(vars(self).get("scaling_"), RowScaling):
            raise InputError("it has no scaling of rows")
        if not isinstance(vars(self).get("class_scaling_"), (ClassScaling, GroupedScaling)):
            raise InputError("it has no scaling of descriptions")
        self._check_scalings()
        if "moments_" in vars(self):
            if not isinstance(self.moments_, Moments):
                raise InputError("its sums over training rows do not fit together")
            self.moments_.check(self.n_features_in_, n_classes)
        if not isinstance(vars(self).get("posterior_"), Posterior):
            raise InputError("it has no Gaussian model")
        self.posterior_.check(self.n_features_in_, vectors.shape[1], n_classes)
        super()._check_state()
