"""JLSE: joint latent similarity embedding, the model of the paper."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.estimators.explanation import Explanation, explain
from unseen.estimators.jlse_parameters import (
    DEFAULT_GRID,
    PAPER,
    PAPER_GRID,
    TEST_TIME,
    check_parameters,
)
from unseen.estimators.jlse_training import start, train
from unseen.estimators.matching import PairMatching
from unseen.inference.embedding import Away, margin_bias
from unseen.inference.latent import Candidates, Latent, TestTime
from unseen.inference.pairwise import latent_of
from unseen.model.objective import Codes
from unseen.preprocessing import ClassScaling, RowScaling
from unseen.progress import tell
from unseen.row_kernel import RowKernel
from unseen.threads import threads_for
from unseen.training.alternating import Training
from unseen.training.calibration import learn_calibration
from unseen.training.checkpoint import Checkpoint
from unseen.training.initialize import target_dictionary
from unseen.training.rows import TrainingRows

# Algorithm 4 is cheap, and what it finds for a class should not depend on the other candidates.
_TEST_TOL = 1e-4
_MOST_KEPT = 8


class JLSE(PairMatching, ZeroShotClassifier):
    """Joint latent similarity embedding: dictionaries for both domains, one similarity for all.

        J = 1/C Σ_i (λ1s/2 |z_i|² + λ2s/2 |x_i - B z_i|²)       classes, z_i summing to one
          + 1/N Σ_j (λ1t/2 |z_j|² + λ2t/2 |x_j - D z_j|²)       rows, atoms of D in the unit ball
          + Σ_ij ω_ij loss(y_ij (z_i' W z_j + b)) + λ_W/2 (|W|² + b²)

    is minimised over codes, B, D, W and b by Algorithm 2; classes and rows met later are embedded
    by Algorithm 4 and scored by decision 1 or 2. The defaults need no tuning; `JLSE.paper()` has
    the choices of the paper where they differ.

    Parameters
    ----------
    n_target_atoms : h_t, size of the dictionary D, which begins as the top eigenvectors.
    n_source_atoms : h_s, size of B; None for one atom a seen class, up to 200 (k-means beyond).
    source_set : where the codes of classes lie: "affine" (summing to one), "simplex" (the paper,
        summing to one and not negative) or "free".
    source_fit, source_shrinkage : λ2s, and λ1s/λ2s.
    target_fit, target_shrinkage : λ2t, and λ1t/λ2t.
    similarity_penalty : λ_W in units of mean |z_i|² times mean |z_j|², or "auto": larger the
        worse the seen classes can be told apart; 0.01 where `fit_pairs` takes labels of pairs.
    loss : "squared_hinge" or "hinge" (the paper).
    positive_weight : weight of a pair of a row with its own class, in units of any other pair's;
        "uniform" is 1 (the paper), "balanced" gives these pairs half of the whole weight.
    balance : rows of a class with n rows weigh n^-balance: 0 counts rows (the paper), 1 classes.
    fit_bias : learn the scalar b, which rows without their mean need; else b = 0 (the paper).
    row_kernel : "gauss" puts D among the features of a Gaussian kernel (of `kernel_width` median
        distances, from `n_landmarks` training rows); "linear" among the rows themselves (the
        paper).
    training : "instance" for Algorithm 2; or "pairwise" for Algorithm 1, where each pair of a class
        and a row has codes of its own: for small data, as it costs C times as much.
    max_iter : rounds of training; 0 leaves the codes as they begin ("init." in the paper).
    tol : stop when a round lowers J by less than this share.
    early_stopping : choose the number of rounds, up to `max_iter`, by accuracy on a fifth of the
        seen classes held out; costs a second training.
    dictionary_inertia : η, how much B keeps to its place in a round; 0 is the paper.
    ranking : share in [0, 1] of a loss that asks the rows of a class to outscore all others, as the
        paper suggests for retrieval, in a last W step; 0 leaves W as it is. Needs squared hinges.
    inference : "instance", a code for each class and row met later; or "pairwise" for Algorithm 3,
        where each pair has its own and Algorithm 4 plays no part: decision 2 is then the paper's
        Eq. (gen_dec), 1 leaves out what the best codes of a class alone cost.
    test_embedding : "algorithm 4", or "init" for the data fit alone.
    test_source_fit, test_target_fit : λ2s and λ2t in Algorithms 3 and 4; the smaller, the stronger
        their hinges. The first is λ2s in decision 2 too.
    test_margin : share of negative training pairs that keep their margin in Algorithm 4; None for
        the margin of training (the paper).
    class_offset : how much of the level of an unseen class on the training rows Algorithm 4 takes
        off its scores; 0 is the paper, whose hinges alone press it down.
    decision : 2 takes the fit of a class's description into its score, 1 does not.
    link : "margin", or "saturating" for the paper's log p_W, which makes ties.
    calibration : taken off the scores of seen classes when they compete with unseen ones: a
        number, "holdout" to learn it from held-out classes and rows, None for 0.
    generalized : let seen and unseen classes compete by default.
    unit_rows, center, center_classes, unit_classes : scale rows to length one, take off their
        mean; take off the mean of the class descriptions, scale them to length one.
    block_tol : relative duality gap at which a block of Algorithm 2 counts as solved.
    random_state : seed of random starts and visiting orders.
    verbose : 1 prints J after each round.

    Attributes after `fit`
    ----------------------
    source_dictionary_, target_dictionary_, similarity_, bias_ : B, D, W and b.
    source_codes_, target_codes_ : Zs (C x h_s) and Zt (N x h_t) of the training data.
    history_ : J (G in Algorithm 1) and its parts, one row a round: source, target, pairs, penalty,
        total.
    n_iter_ : rounds of training that were run.
    """

    def __init__(
        self,
        n_target_atoms: int = 800,
        *,
        n_source_atoms: int | None = None,
        source_set: str = "affine",
        source_fit: float = 0.2,
        source_shrinkage: float = 1.0,
        target_fit: float = 2000.0,
        target_shrinkage: float = 0.02,
        similarity_penalty: float | str = "auto",
        loss: str = "squared_hinge",
        positive_weight: float | str = 5.0,
        balance: float = 0.5,
        fit_bias: bool = True,
        row_kernel: str = "gauss",
        kernel_width: float = 0.8,
        n_landmarks: int = 1600,
        training: str = "instance",
        max_iter: int = 2,
        tol: float = 0.0,
        early_stopping: bool = False,
        dictionary_inertia: float = 10.0,
        ranking: float = 0.0,
        inference: str = "instance",
        test_embedding: str = "algorithm 4",
        test_source_fit: float = 1.0,
        test_target_fit: float = 3.0,
        test_margin: float | None = 0.998,
        class_offset: float = 0.6,
        decision: int = 2,
        link: str = "margin",
        calibration: float | str | None = "holdout",
        generalized: bool = False,
        unit_rows: bool = True,
        center: bool = True,
        center_classes: bool = True,
        unit_classes: bool = True,
        block_tol: float = 1e-3,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.n_target_atoms = n_target_atoms
        self.n_source_atoms = n_source_atoms
        self.source_set = source_set
        self.source_fit = source_fit
        self.source_shrinkage = source_shrinkage
        self.target_fit = target_fit
        self.target_shrinkage = target_shrinkage
        self.similarity_penalty = similarity_penalty
        self.loss = loss
        self.positive_weight = positive_weight
        self.balance = balance
        self.fit_bias = fit_bias
        self.row_kernel = row_kernel
        self.kernel_width = kernel_width
        self.n_landmarks = n_landmarks
        self.training = training
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.dictionary_inertia = dictionary_inertia
        self.ranking = ranking
        self.inference = inference
        self.test_embedding = test_embedding
        self.test_source_fit = test_source_fit
        self.test_target_fit = test_target_fit
        self.test_margin = test_margin
        self.class_offset = class_offset
        self.decision = decision
        self.link = link
        self.calibration = calibration
        self.generalized = generalized
        self.unit_rows = unit_rows
        self.center = center
        self.center_classes = center_classes
        self.unit_classes = unit_classes
        self.block_tol = block_tol
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """JLSE with the choices of the paper; further parameters go on top."""
        return cls(**{**PAPER, **parameters})

    @classmethod
    def default_grid(cls) -> dict[str, list[Any]]:
        return {name: list(values) for name, values in DEFAULT_GRID.items()}

    @classmethod
    def paper_grid(cls) -> dict[str, list[Any]]:
        """What the paper tunes: 192 settings, for which 48 fits a split are enough.

        λ2s and λ1s/λ2s, λ_W, the size of D, the rounds of Algorithm 2, and λ2s and λ2t in
        Algorithm 4, which set the weight of its hinges.
        """
        return {name: list(values) for name, values in PAPER_GRID.items()}

    @property
    def test_time_parameters(self) -> frozenset[str]:
        # Both of these use codes of test time while they fit.
        learned = self.calibration == "holdout" and self.generalized
        return frozenset() if self.early_stopping or learned else TEST_TIME

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self._check_parameters()
        self._forget_pairs()
        work = X.shape[0] * min(self.n_target_atoms, X.shape[1]) * table.n_classes
        with threads_for(work), self._checkpoint() as checkpoint:
            self._fit_scaled(X, labels, table, checkpoint)

    def _fit_scaled(
        self, X: np.ndarray, labels: np.ndarray, table: ClassTable, checkpoint: Checkpoint
    ) -> None:
        self.scaling_ = RowScaling.fit(X, self.unit_rows, self.center, unit_scale=True)
        self.class_scaling_ = ClassScaling.fit(
            table.vectors, self.unit_classes, self.center_classes
        )
        S = self.class_scaling_(table.vectors).astype(X.dtype)
        tell("features of rows, dictionary D")
        rows = self._training_rows(X)
        D = target_dictionary(rows, self.n_target_atoms, self.random_state)
        self._keep(train(self, S, rows, labels, D, checkpoint, self._latent))
        tell("calibration")
        begin = partial(start, self)
        self.calibration_ = (
            learn_calibration(S, rows, labels, D, begin, self._latent, self.random_state)
            if self.calibration == "holdout" and labels.ndim == 1
            else float(0.0 if self.calibration in (None, "holdout") else self.calibration)
        )

    def _training_rows(self, X: np.ndarray) -> TrainingRows:
        """Training rows in the space in which D lies: as they are, or features of the kernel."""
        if self.row_kernel == "linear":
            self.kernel_ = None
            return TrainingRows(X, self.scaling_)
        self.kernel_, features = RowKernel.fit(
            X,
            self.scaling_,
            width=self.kernel_width,
            n_landmarks=self.n_landmarks,
            n_features=self.n_target_atoms,
            center=self.center,
            random_state=self.random_state,
        )
        return TrainingRows(features, RowScaling(False, None))

    def _keep(self, training: Training) -> None:
        codes = training.codes
        self.source_codes_, self.target_codes_ = codes.Zs, codes.Zt
        self.source_dictionary_, self.target_dictionary_ = codes.B, codes.D
        self.similarity_, self.bias_ = codes.W, float(codes.b)
        self.test_bias_ = margin_bias(codes, training.labels, self.test_margin)
        self.negative_weight_ = float(training.weights.pairs.neg)
        self.history_ = np.array([[*parts, parts.total] for parts in training.history])
        self.n_iter_ = training.n_rounds
        self._kept = {}

    # -- test time ------------------------------------------------------------------------------

    def _choices(self, negative_weight: float, test_bias: float) -> TestTime:
        away = Away(
            self.test_source_fit, self.test_target_fit, negative_weight, test_bias,
            self.class_offset, self.loss, min(self.block_tol, _TEST_TOL),
        )  # fmt: skip
        return TestTime(
            source_set=self.source_set,
            source_shrinkage=self.source_shrinkage,
            target_shrinkage=self.target_shrinkage,
            source_fit=self.test_source_fit,
            target_fit=self.test_target_fit,
            away=None if self.inference == "pairwise" or self.test_embedding == "init" else away,
            inference=self.inference,
            decision=self.decision,
            link=self.link,
            loss=self.loss,
        )

    def _latent(self, training: Training) -> Latent:
        """What training has found so far, as it would be used at test time."""
        bias = margin_bias(training.codes, training.labels, self.test_margin)
        return latent_of(training.codes, self._choices(float(training.weights.pairs.neg), bias))

    @property
    def _fitted(self) -> Latent:
        """The fitted model; it and the last few sets of candidates are kept, which makes single
        rows fast. A parameter of test time that is changed after `fit` makes it anew."""
        kept: dict[Any, Any] = vars(self).setdefault("_kept", {})
        choices = self._for_pairs(self._choices(self.negative_weight_, self.test_bias_))
        if "latent" not in kept or kept["latent"].choices != choices:
            codes = Codes(
                self.source_codes_, self.target_codes_, self.source_dictionary_,
                self.target_dictionary_, self.similarity_, self.bias_,
            )  # fmt: skip
            kept.clear()
            kept["latent"] = latent_of(codes, choices)
        return kept["latent"]

    def _project(self, X: np.ndarray) -> np.ndarray:
        scaled = self.scaling_(X)
        features = scaled if self.kernel_ is None else self.kernel_(scaled)
        return features @ self.target_dictionary_.astype(X.dtype, copy=False)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self._fitted.embed_rows(self._project(X))

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self._prepare(table).codes

    def _prepare(self, table: ClassTable) -> Candidates:
        """Embed the candidates: trained codes of seen classes, test-time codes of all others."""
        latent, key = self._fitted, (table.names.tobytes(), table.vectors.tobytes())
        if key not in self._kept:
            while len(self._kept) > _MOST_KEPT:
                self._kept.pop(list(self._kept)[1], None)
            self._kept[key] = latent.candidates(self._describe(table), self._number_if_seen(table))
        return self._kept[key]

    def _number_if_seen(self, table: ClassTable) -> np.ndarray:
        """The number of each class in training, -1 for others and for one described anew."""
        if self._has_pairs:
            return self._known_sources(table)
        known = self.class_table_.select(self.seen_classes_).vectors
        number = np.searchsorted(self.seen_classes_, table.names)
        number = np.minimum(number, self.seen_classes_.size - 1)
        is_seen = self.seen_classes_[number] == table.names
        is_seen &= np.isclose(table.vectors, known[number]).all(axis=1)
        return np.where(is_seen, number, -1)

    def _describe(self, table: ClassTable) -> np.ndarray:
        return self.class_scaling_(table.vectors).astype(self.similarity_.dtype)

    def _n_codes(self) -> int:
        return self.similarity_.shape[1]

    def _score(self, X: np.ndarray, prepared: Candidates) -> np.ndarray:
        scores = self._fitted.scores(self._project(X), prepared)
        if prepared.is_seen.any() and not prepared.is_seen.all():
            scores[:, prepared.is_seen] -= scores.dtype.type(self.calibration_)
        return scores

    def explain(self, x: Any, name: Any = None, top: int = 5) -> Explanation:
        """Why the row x is, or is not, of the class `name`: latent links and attributes.

        Without a name the class is the one that x is predicted to be of. What is taken apart is
        the similarity z_s' W z_t + b; what the decision adds to it for a class as a whole (its
        offset, and the fit of its description) is the same for every row.
        """
        x = _as_row(x)
        name = self.predict(x)[0] if name is None else name
        table = self._candidates([name])
        score = float(self.similarities(x, [name])[0, 0])
        row = np.concatenate(list(self._row_blocks(x)))
        prepared = self._prepare(table)
        code = self._fitted.embed_rows(self._project(row), away=not prepared.is_seen[0])[0]
        return explain(
            name,
            score,
            prepared.codes[0],
            code,
            self.similarity_,
            self.bias_,
            self.source_dictionary_,
            self._describe(table)[0],
            self.class_table_.select(self.seen_classes_),
            top,
        )

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _set_classes(self, table: ClassTable, seen: np.ndarray) -> None:
        super()._set_classes(table, seen)
        if self.generalized:
            self.classes_ = np.sort(table.names)


def _as_row(x: Any) -> Any:
    """One row as a table of one row; names of columns are kept."""
    if np.ndim(x) == 1:
        return x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
    if np.ndim(x) != 2 or len(x) != 1:
        raise InputError(f"explain takes one row, not an array of shape {np.shape(x)}")
    return x
