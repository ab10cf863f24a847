"""JLSE: joint latent similarity embedding, the model of the paper."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.stats import loguniform

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.explanation import Explanation, explain
from unseen.estimators.matching import PairMatching
from unseen.estimators.scoring import one_row
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import Candidates, DataFit, Scorer, Testing, decision_scores
from unseen.model.latent import LatentModel, Spaces
from unseen.pairs.loss import Pairs
from unseen.rows.layout import Layout
from unseen.rows.scaling import ClassScaler, RowScaler, RowScaling
from unseen.solvers.dictionary import MOST_CLASS_ATOMS
from unseen.support.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    Choice,
    at_least,
    has_parameters,
    parameter,
    part,
)
from unseen.support.work import threads_for
from unseen.training.alternating import Algorithm2, Data, begin
from unseen.training.pairwise import Algorithm1

TESTING = (Algorithm4, Algorithm3, DataFit)
# Sets of candidates whose embedding is kept.
_MOST_KEPT = 8
# What `tune` draws from where a range would make no sense.
_LISTS: dict[str, list[Any]] = {
    "n_target_atoms": [60, 100, 150, 250, 400],
    "training__max_iter": [0, 1, 2, 3],
    "positive_weight": ["uniform", 3.0, 10.0, "balanced"],
}


@has_parameters
class JLSE(PairMatching):
    """Joint latent similarity embedding: dictionaries for both domains, one similarity for all.

        J = 1/C Σ_i (λ1s/2 |z_i|² + λ2s/2 |x_i - B z_i|²)       classes, z_i on the simplex
          + 1/N Σ_j (λ1t/2 |z_j|² + λ2t/2 |x_j - D z_j|²)       rows, atoms of D in the unit ball
          + Σ_ij ω_ij [1 - y_ij z_i' W z_j]_+ + λ_W/2 |W|²

    is minimised over codes, B, D and W by Algorithm 2; classes and rows met later are embedded by
    Algorithm 4 and scored by decision 2, all with one set of λ. The model is the paper's; what the
    paper leaves open, the weights of pairs and the scaling of rows and descriptions, was chosen on
    held-out seen classes (docs/paper-map.md).

    Parameters
    ----------
    n_target_atoms : h_t, size of the dictionary D, which begins as the top eigenvectors.
    n_source_atoms : h_s, size of B; None for one atom per seen class, up to 200 (k-means beyond).
    source_fit, target_fit : λ2s and λ2t, in units of the pair loss that the first W leaves, for
        descriptions and rows of a mean square spread of one.
    source_shrinkage, target_shrinkage : λ1s/λ2s and λ1t/λ2t, for the same.
    similarity_penalty : λ_W in units of mean |z_i|² · mean |z_j|² / C.
    positive_weight : weight of a pair of a row with its own class, in units of any other pair's;
        "uniform" is 1 (the paper), "balanced" gives these pairs half of the whole weight.
    training : `Algorithm2()`, or `Algorithm1()`, where each pair has codes of its own.
    testing : `Algorithm4()`; `DataFit()` for "init." in the paper's table; or `Algorithm3()`, where
        each pair has codes of its own. It may be changed after `fit`.
    decision : 2 takes the fit of a class's description into its score, 1 does not. It may be
        changed after `fit`.
    row_scaler, class_scaler : a `RowScaler` and a `ClassScaler`.
    constant_feature : size of a last feature that is the same for every row, in units of the root
        mean square length of rows. The paper has no bias, so rows without their mean need it.
    random_state : seed of random starts, of visiting orders, and of the rows drawn (`keep_codes`).
    keep_codes : keep the code of every training row, N x h_t, in the model and its files. Without
        them Algorithm 4 has W z_j of all training rows up to 4 million numbers (16 MB), and beyond
        that of rows drawn at random, with a known error (`latent_.pulls`).

    Attributes
    ----------
    latent_ : the `LatentModel`: B, D, W, codes and scaling.
    history_ : J (G in Algorithm 1) and its parts, one row per round: source, target, pairs,
        penalty, total.
    n_iter_ : rounds of training that were run.
    """

    # The pair loss of training, and the form of log p_W that classes are chosen by.
    _loss = "hinge"
    _link = "saturating"
    test_time_parameters = frozenset(("testing", "decision"))
    row_reading = "rounds"
    fits_on_workers = True
    # By what a default is divided and multiplied for the range that `tune` draws from.
    _ranges: ClassVar[Mapping[str, float]] = {
        "source_fit": 4.0,
        "source_shrinkage": 4.0,
        "target_fit": 8.0,
        "target_shrinkage": 5.0,
        "similarity_penalty": 6.0,
    }

    n_target_atoms: int = parameter(200, at_least(1))
    _: KW_ONLY
    n_source_atoms: int | None = parameter(None, at_least(1), None)
    source_fit: float = parameter(10.0, POSITIVE)
    source_shrinkage: float = parameter(4.0, NOT_NEGATIVE)
    target_fit: float = parameter(150.0, POSITIVE)
    target_shrinkage: float = parameter(0.03, NOT_NEGATIVE)
    similarity_penalty: float = parameter(2.5e-3, POSITIVE)
    positive_weight: float | str = parameter(10.0, Choice("uniform", "balanced"), POSITIVE)
    training: Algorithm2 | None = part(Algorithm2, (Algorithm2, Algorithm1))
    testing: Testing | None = part(Algorithm4, TESTING)
    decision: int = parameter(2, Choice(1, 2))
    row_scaler: RowScaler | None = part(RowScaler)
    class_scaler: ClassScaler | None = part(
        lambda: ClassScaler(center=False, power=0.7, in_span=True)
    )
    constant_feature: float = parameter(0.4, NOT_NEGATIVE)
    random_state: int = parameter(0, at_least(0), None)
    keep_codes: bool = parameter(False, "boolean")

    @classmethod
    def default_grid(cls) -> dict[str, Any]:
        """What the paper tunes: the λ, the size of D and, as it leaves them open, the rounds and
        the weights of pairs. A λ has a range around its default, the others lists that hold it."""
        usual = cls().get_params()
        ranges = {k: loguniform(usual[k] / f, usual[k] * f) for k, f in cls._ranges.items()}
        lists = {k: v if usual[k] in v else _with(usual[k], v) for k, v in _LISTS.items()}
        return {**ranges, **lists}

    # -- training -------------------------------------------------------------------------------

    def _spaces(self, X: np.ndarray, vectors: np.ndarray) -> Spaces:
        """Rows and descriptions in the spaces of D and B."""
        return Spaces(
            self._part("row_scaler").learn(X, unit_scale=True, constant=self.constant_feature),
            self._part("class_scaler").learn(vectors),
        )

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        algorithm = self._part("training")
        pairs = Pairs.weighted(labels, table.n_classes, self.positive_weight, self._loss)
        work = X.shape[0] * min(self.n_target_atoms, X.shape[1]) * table.n_classes
        with threads_for(work), self._checkpoint(X, labels, table) as checkpoint:
            spaces = self._spaces(X, table.vectors)
            S = spaces.describe(table.vectors).astype(X.dtype)
            data = self._data(S, X, spaces.rows, pairs)
            link = self._link if labels.ndim == 1 else "margin"
            try:
                training = begin(data, self, algorithm.block_tol, checkpoint.state("rounds"))
                algorithm.run(training, checkpoint)
                self.latent_ = training.model(spaces, link, self.keep_codes, self.random_state)
            finally:
                data.rows.forget()
        self.history_ = np.array([[*parts, parts.total] for parts in training.history])
        self.n_iter_ = len(training.history) - 1
        self._kept = {}

    def _data(self, S: np.ndarray, X: Any, scaling: RowScaling, pairs: Pairs) -> Data:
        """The data of J, with a place for all of size N: codes, duals and what solvers compute from
        them."""
        n_classes, size, path = len(S), X.itemsize, self._checkpoint_path
        h_t, h_s = min(self.n_target_atoms, X.shape[1] + 1), min(n_classes, MOST_CLASS_ATOMS)
        h_s = min(n_classes, self.n_source_atoms or h_s)
        sizes = size * max(h_t, n_classes), size * (3 * h_t + 2 * h_s + 5 * n_classes)
        if hasattr(X, "on_workers"):
            if isinstance(self._part("training"), Algorithm1):
                raise InputError("Algorithm1 needs all rows in memory: use Algorithm2 with Dask")
            return Data(S, X.on_workers(scaling, pairs, sizes, path), pairs)
        folder = None if path is None else os.path.dirname(os.path.abspath(path))
        return Data.of(S, X, scaling, pairs, Layout.of(X.shape[0], *sizes, folder))

    # -- test time ------------------------------------------------------------------------------

    @property
    def _scorer(self) -> Scorer:
        """The model at test time; it and the last few sets of candidates are kept, which makes
        single rows fast. A parameter of test time that is changed after `fit` makes it anew."""
        kept: dict[Any, Any] = vars(self).setdefault("_kept", {})
        testing, decision = self._part("testing"), self.decision
        if self._has_pairs and not self.pairs_["disjoint"]:
            # Without the premise of Algorithm 4, without Algorithm 4.
            testing, decision = DataFit(), 1
        choices = type(testing), tuple(vars(testing).items()), decision, id(self.latent_)
        if kept.get("choices") != choices:
            kept.clear()
            kept["choices"], kept["scorer"] = choices, testing.on(self.latent_, decision)
        return kept["scorer"]

    def _prepare(self, table: ClassTable) -> Candidates:
        """Embed the candidates: trained codes of seen classes, test-time codes of all others."""
        scorer, key = self._scorer, (table.names.tobytes(), table.vectors.tobytes())
        if key not in self._kept:
            while len(self._kept) > _MOST_KEPT + 1:
                self._kept.pop(list(self._kept)[2], None)
            S = self.latent_.describe(table.vectors)
            self._kept[key] = scorer.candidates(S, self._number_if_seen(table))
        return self._kept[key]

    def _number_if_seen(self, table: ClassTable) -> np.ndarray:
        return self._known_sources(table) if self._has_pairs else super()._number_if_seen(table)

    def _score(self, X: np.ndarray, prepared: Candidates) -> np.ndarray:
        return self._scorer.scores(self.latent_.project(X), prepared)

    def _gallery_codes(self, X: np.ndarray) -> np.ndarray:
        return self._scorer.gallery_codes(self.latent_.project(X))

    def _gallery_scores(self, codes: np.ndarray, prepared: Candidates) -> np.ndarray:
        return self._scorer.gallery_scores(codes, prepared)

    def _gallery_queries(self, prepared: Candidates) -> np.ndarray | None:
        return self._scorer.gallery_queries(prepared)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self._scorer.embed_rows(self.latent_.project(X))

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self._prepare(table).codes

    def explain(self, x: Any, name: Any = None, top: int = 5) -> Explanation:
        """Why the row x is, or is not, of the class `name`: latent links and attributes.

        Without a name the class is the one that x is predicted to be of. What is taken apart is
        the similarity z_s' W z_t + b; what the decision adds to it for a class as a whole (the fit
        of its description, an offset) is the same for every row.
        """
        x = one_row(x)
        name = self.predict(x)[0] if name is None else name
        table = self._candidates([name])
        score = float(self.similarities(x, [name])[0, 0])
        row = np.concatenate(list(self._row_blocks(x)))
        prepared, latent = self._prepare(table), self.latent_
        is_seen = bool(prepared.is_seen[0])
        code = self._scorer.embed_rows(latent.project(row), seen=is_seen)[0]
        seen = self.class_table_.select(self.seen_classes_)
        return explain(latent, table, seen, (prepared.codes[0], code), score, top)

    def _even_score(self) -> float:
        return float(decision_scores(np.zeros(1), self.latent_.loss, self.latent_.link)[0])

    def _check_state(self) -> None:
        self._check_pairs()
        if not isinstance(self.latent_, LatentModel):
            raise InputError("it has no latent model")
        self.latent_.check(
            self.n_features_in_, self.class_table_.vectors.shape[1], self.seen_classes_.size
        )
        with np.errstate(all="ignore"):
            if not np.isfinite(self.latent_.spaces.descriptions(self.class_table_.vectors)).all():
                raise InputError("its scaling makes no numbers of the descriptions of its classes")


def _with(value: Any, values: list[Any]) -> list[Any]:
    """Values and one more, numbers in order."""
    mixed = any(isinstance(v, str) for v in [value, *values])
    return [value, *values] if mixed else sorted([value, *values])
