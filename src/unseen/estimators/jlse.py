"""JLSE: joint latent similarity embedding, the model of the paper."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.base import (
    ZeroShotClassifier,
    check_number,
    check_positive,
    check_whole,
)
from unseen.estimators.explanation import Explanation, explain
from unseen.inference.decision import class_levels, decision_scores
from unseen.inference.embedding import Away, embed_classes, embed_rows, margin_bias
from unseen.model.objective import Codes, Weights
from unseen.model.terms import LOSSES, minus_log_p_B, similarity_scores
from unseen.pairs import pair_weights
from unseen.preprocessing import ClassScaling, RowScaling
from unseen.selection import ClassHoldout
from unseen.solvers.source_codes import SETS
from unseen.threads import threads_for
from unseen.training.alternating import Callback, Options, Training
from unseen.training.calibration import learn_calibration
from unseen.training.initialize import source_dictionary, target_dictionary
from unseen.training.rows import TrainingRows

_AUTO_PENALTY = 4e-5
# Algorithm 4 is cheap, and what it finds for a class should not depend on the other candidates.
_TEST_TOL = 1e-4
_KEPT = 8


class JLSE(ZeroShotClassifier):
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
        worse the seen classes can be told apart.
    loss : "squared_hinge" or "hinge" (the paper).
    positive_weight : weight of a pair of a row with its own class, in units of any other pair's;
        "uniform" is 1 (the paper), "balanced" gives these pairs half of the whole weight.
    fit_bias : learn the scalar b, which rows without their mean need; else b = 0 (the paper).
    max_iter : rounds of Algorithm 2; 0 leaves the codes as they begin ("init." in the paper).
    tol : stop when a round lowers J by less than this share.
    early_stopping : choose the number of rounds, up to `max_iter`, by accuracy on a fifth of the
        seen classes held out; costs a second training.
    dictionary_inertia : η, how much B keeps to its place in a round; 0 is the paper.
    test_embedding : "algorithm 4", or "init" for the data fit alone.
    test_source_fit, test_target_fit : λ2s and λ2t in Algorithm 4; the smaller, the stronger its
        hinges.
    test_margin : share of negative training pairs that keep their margin in Algorithm 4; None for
        the margin of training (the paper).
    class_offset : how much of its level on the training rows is taken off the scores of an unseen
        class; 0 is the paper.
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
    history_ : J and its parts, one row a round: source, target, pairs, penalty, total.
    n_iter_ : rounds of Algorithm 2 that were run.
    """

    def __init__(
        self,
        n_target_atoms: int = 384,
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
        fit_bias: bool = True,
        max_iter: int = 2,
        tol: float = 0.0,
        early_stopping: bool = False,
        dictionary_inertia: float = 10.0,
        test_embedding: str = "algorithm 4",
        test_source_fit: float = 0.06,
        test_target_fit: float = 6.0,
        test_margin: float | None = 0.99,
        class_offset: float = 0.5,
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
        self.fit_bias = fit_bias
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.dictionary_inertia = dictionary_inertia
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
        choices = {
            "source_set": "simplex",
            "loss": "hinge",
            "positive_weight": "uniform",
            "fit_bias": False,
            "center": False,
            "center_classes": False,
            "dictionary_inertia": 0.0,
            "test_margin": None,
            "class_offset": 0.0,
            "similarity_penalty": 1e-5,
        }
        return cls(**{**choices, **parameters})

    @classmethod
    def default_grid(cls) -> dict[str, list[Any]]:
        return {
            "similarity_penalty": ["auto", 2e-5, 4e-5, 1e-4, 2e-4],
            "max_iter": [0, 2],
            "test_embedding": ["init", "algorithm 4"],
        }

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self._check_parameters()
        work = X.shape[0] * min(self.n_target_atoms, X.shape[1]) * table.n_classes
        with threads_for(work):
            self._fit_scaled(X, labels, table)

    def _fit_scaled(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self.scaling_ = RowScaling.fit(X, self.unit_rows, self.center, unit_scale=True)
        self.class_scaling_ = ClassScaling.fit(
            table.vectors, self.unit_classes, self.center_classes
        )
        S = self.class_scaling_(table.vectors).astype(X.dtype)
        rows = TrainingRows(X, self.scaling_)
        D = target_dictionary(rows, self.n_target_atoms, self.random_state)
        n_rounds = self._choose_rounds(X, labels, S, D) if self.early_stopping else self.max_iter
        training = self._train(S, rows, labels, D, n_rounds)
        self._keep(training)
        self.calibration_ = (
            learn_calibration(self, training, D)
            if self.calibration == "holdout"
            else float(self.calibration or 0.0)
        )

    def _train(
        self, S: np.ndarray, rows: TrainingRows, labels: np.ndarray, D: np.ndarray, n_rounds: int
    ) -> Training:
        """Algorithm 2 from the initial dictionaries."""
        training = self._start(S, rows, labels, D)
        training.run(n_rounds, self.tol, callback=_announcer(training) if self.verbose else None)
        return training

    def _start(
        self, S: np.ndarray, rows: TrainingRows, labels: np.ndarray, D: np.ndarray
    ) -> Training:
        """The initial codes and the W that belongs to them."""
        B = source_dictionary(S, self.n_source_atoms, self.random_state)
        weights = Weights(
            source_shrink=self.source_shrinkage * self.source_fit,
            source_fit=self.source_fit,
            target_shrink=self.target_shrinkage * self.target_fit,
            target_fit=self.target_fit,
            similarity=1.0,
            pairs=pair_weights(labels.size, S.shape[0], self.positive_weight),
            loss=self.loss,
            bias_scale=float(self.fit_bias),
        )
        options = Options(
            self.source_set, self.dictionary_inertia, self.block_tol, self.random_state
        )
        training = Training(S, rows, labels, weights, options, B, D)
        automatic = self.similarity_penalty == "auto"
        training.set_penalty(_AUTO_PENALTY if automatic else float(self.similarity_penalty))
        training.fit_similarity()
        if automatic:
            training.set_penalty(float(np.clip(2e-4 * training.error(), 2e-5, 2e-4)))
            training.fit_similarity()
        return training

    def _choose_rounds(
        self, X: np.ndarray, labels: np.ndarray, S: np.ndarray, D: np.ndarray
    ) -> int:
        """The number of rounds after which held-out seen classes are recognised best."""
        if S.shape[0] < 4:
            raise InputError(
                "early_stopping holds out two seen classes and trains on two or more, so it needs "
                f"at least 4; there are {S.shape[0]}"
            )
        kept, held = next(ClassHoldout(0.2, 1, self.random_state).split(X, labels))
        names, inside = np.unique(labels[kept], return_inverse=True)
        others = np.setdiff1d(labels, names)
        training = self._start(S[names], TrainingRows(X, self.scaling_, kept), inside, D)
        test_rows = TrainingRows(X, self.scaling_, held)
        accuracies = []
        for _ in range(self.max_iter + 1):
            self._keep(training)
            scores = self._unseen_scores(test_rows.project(self.target_dictionary_), S[others])
            right = others[scores.argmax(axis=1)] == labels[held]
            accuracies.append(np.mean([right[labels[held] == c].mean() for c in others]))
            if len(accuracies) <= self.max_iter:
                training.run_round()
        return int(np.argmax(accuracies))

    def _keep(self, training: Training) -> None:
        codes = training.codes
        self.source_codes_, self.target_codes_ = codes.Zs, codes.Zt
        self.source_dictionary_, self.target_dictionary_ = codes.B, codes.D
        self.similarity_, self.bias_ = codes.W, float(codes.b)
        self.test_bias_ = margin_bias(codes, training.labels, self.test_margin)
        self.negative_weight_ = float(training.weights.pairs.neg)
        self.history_ = np.array([[*parts, parts.total] for parts in training.history])
        self.n_iter_ = training.n_rounds
        self._embedded = {}

    # -- test time ------------------------------------------------------------------------------

    @property
    def _codes(self) -> Codes:
        return Codes(
            self.source_codes_, self.target_codes_, self.source_dictionary_,
            self.target_dictionary_, self.similarity_, self.bias_,
        )  # fmt: skip

    @property
    def _away(self) -> Away | None:
        """What Algorithm 4 needs, or None where codes come from the data fit alone."""
        if self.test_embedding == "init":
            return None
        return Away(
            self.test_source_fit, self.test_target_fit, self.negative_weight_, self.test_bias_,
            self.loss, min(self.block_tol, _TEST_TOL),
        )  # fmt: skip

    def _project(self, X: np.ndarray) -> np.ndarray:
        return self.scaling_(X) @ self.target_dictionary_.astype(X.dtype, copy=False)

    def _embed(self, XD: np.ndarray, away: Away | None) -> np.ndarray:
        """Codes of projected rows; D'D is computed once, which is what a single row waits for."""
        kept: dict[Any, Any] = vars(self).setdefault("_embedded", {})
        if "D'D" not in kept:
            kept["D'D"] = self.target_dictionary_.T.astype(np.float64) @ self.target_dictionary_
        with threads_for(XD.size * self.source_codes_.shape[0]):
            return embed_rows(XD, self._codes, self.target_shrinkage, away, kept["D'D"])

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self._embed(self._project(X), self._away)

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        """Trained codes of seen classes, test-time codes of all others."""
        is_seen = self._is_seen(table)
        codes = np.empty((table.n_classes, self.similarity_.shape[0]), self.similarity_.dtype)
        codes[is_seen] = self.source_codes_[
            np.searchsorted(self.seen_classes_, table.names[is_seen])
        ]
        if not is_seen.all():
            S = self._describe(table)[~is_seen]
            codes[~is_seen] = embed_classes(
                S, self._codes, self.source_shrinkage, self.source_set, self._away
            )
        return codes

    def _is_seen(self, table: ClassTable) -> np.ndarray:
        """Which classes were trained; under another description a class is a new one."""
        is_seen = np.isin(table.names, self.seen_classes_)
        if is_seen.any():
            known = self.class_table_.select(table.names[is_seen]).vectors
            is_seen[is_seen] = np.isclose(table.vectors[is_seen], known).all(axis=1)
        return is_seen

    def _describe(self, table: ClassTable) -> np.ndarray:
        return self.class_scaling_(table.vectors).astype(self.similarity_.dtype)

    def _prepare(self, table: ClassTable) -> _Prepared:
        """Embed the candidates; the last few sets are kept, so that single rows come back fast."""
        kept: dict[Any, Any] = vars(self).setdefault("_embedded", {})
        key = (
            table.names.tobytes(), table.vectors.tobytes(), self._away, self.decision,
            self.source_set, self.source_shrinkage, self.test_source_fit, self.class_offset,
        )  # fmt: skip
        prepared = kept.get(key)
        if prepared is None:
            codes = self._class_codes(table)
            fit = self._fit_of(self._describe(table), codes)
            if len(kept) >= _KEPT:
                kept.pop(next(iter(kept)), None)
            is_seen = self._is_seen(table)
            offset = np.where(is_seen, 0.0, self._offsets(codes))
            kept[key] = prepared = _Prepared(codes, fit, offset, is_seen)
        return prepared

    def _n_codes(self) -> int:
        return self.similarity_.shape[1]

    def _fit_of(self, S: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
        """-log p_B of each class for decision 2."""
        if self.decision == 1:
            return None
        fit = self.test_source_fit
        return minus_log_p_B(S, codes, self.source_dictionary_, self.source_shrinkage * fit, fit)

    def _score(self, X: np.ndarray, prepared: _Prepared) -> np.ndarray:
        """Scores of all candidates; the rows' codes are away from seen classes for unseen ones."""
        XD = self._project(X)
        scores = np.empty((X.shape[0], prepared.is_seen.size), dtype=X.dtype)
        for seen in np.unique(prepared.is_seen):
            here = prepared.is_seen == seen
            fit = None if prepared.fit is None else prepared.fit[here]
            away = None if seen else self._away
            scores[:, here] = self._decide(XD, prepared.codes[here], fit, away)
        scores -= prepared.offset.astype(scores.dtype)
        if prepared.is_seen.any() and not prepared.is_seen.all():
            scores[:, prepared.is_seen] -= scores.dtype.type(self.calibration_)
        return scores

    def _decide(
        self, XD: np.ndarray, codes: np.ndarray, fit: np.ndarray | None, away: Away | None
    ) -> np.ndarray:
        rows = self._embed(XD, away)
        raw = similarity_scores(codes, rows, self.similarity_, self.bias_)
        return decision_scores(raw, self.loss, self.link, fit)

    def _unseen_scores(self, XD: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Scores of projected rows with scaled descriptions of classes without training rows."""
        codes = embed_classes(S, self._codes, self.source_shrinkage, self.source_set, self._away)
        scores = self._decide(XD, codes, self._fit_of(S, codes), self._away)
        return scores - self._offsets(codes).astype(scores.dtype)

    def _offsets(self, codes: np.ndarray) -> np.ndarray:
        """What is taken off the scores of classes without training rows."""
        if self.class_offset == 0:
            return np.zeros(codes.shape[0])
        return self.class_offset * class_levels(self._codes, codes)

    def _seen_scores(self, XD: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Scores of projected rows with the classes of training, S being their descriptions."""
        fit = self._fit_of(S, self.source_codes_)
        return self._decide(XD, self.source_codes_, fit, None)

    def score_pairs(self, S: Any, X: Any) -> np.ndarray:
        """F(x_s, x_t) of every source vector (C' x d_s) with every row (N' x d_t), N' x C'.

        The source vectors are taken for descriptions of classes without training rows.
        """
        vectors = np.atleast_2d(np.asarray(S))
        table = ClassTable([f"pair {k}" for k in range(len(vectors))], vectors)
        return self.similarities(X, table)

    def explain(self, x: Any, name: Any, top: int = 5) -> Explanation:
        """Why the row x is, or is not, of the class `name`: latent links and attributes.

        It takes the similarity z_s' W z_t + b apart; what the decision adds to it for a class as a
        whole (its offset, and the fit of its description) is the same for every row.
        """
        table = self._candidates([name])
        row = np.concatenate(list(self._row_blocks(_as_row(x))))
        prepared = self._prepare(table)
        away = None if prepared.is_seen[0] else self._away
        code = self._embed(self._project(row), away)[0]
        return explain(
            name,
            prepared.codes[0],
            code,
            self.similarity_,
            self.bias_,
            self.source_dictionary_,
            self._describe(table)[0],
            self.class_table_.select(self.seen_classes_),
            top,
        )

    def _set_classes(self, table: ClassTable, seen: np.ndarray) -> None:
        super()._set_classes(table, seen)
        if self.generalized:
            self.classes_ = np.sort(table.names)

    def _check_parameters(self) -> None:
        for name in ("source_fit", "target_fit", "test_source_fit", "test_target_fit", "block_tol"):
            check_positive(getattr(self, name), name)
        for name in ("source_shrinkage", "target_shrinkage", "tol", "dictionary_inertia",
                     "class_offset"):  # fmt: skip
            check_number(getattr(self, name), name, 0)
        check_whole(self.n_target_atoms, "n_target_atoms", 1)
        check_whole(self.max_iter, "max_iter", 0)
        if self.source_set != "simplex":
            check_positive(self.source_shrinkage, f"source_shrinkage of {self.source_set} codes")
        if self.n_source_atoms is not None:
            check_whole(self.n_source_atoms, "n_source_atoms", 1)
        if self.similarity_penalty != "auto":
            check_positive(self.similarity_penalty, "similarity_penalty")
        if self.test_margin is not None:
            check_number(self.test_margin, "test_margin", 0, 1)
        if self.calibration not in (None, "holdout"):
            check_number(self.calibration, "calibration")
        pair_weights(1, 2, self.positive_weight)
        choices = {
            "source_set": SETS,
            "loss": LOSSES,
            "test_embedding": ("algorithm 4", "init"),
            "decision": (1, 2),
            "link": ("margin", "saturating"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")


def _as_row(x: Any) -> Any:
    """One row as a table of one row; names of columns are kept."""
    if np.ndim(x) == 1:
        return x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
    if np.ndim(x) != 2 or len(x) != 1:
        raise InputError(f"explain takes one row, not an array of shape {np.shape(x)}")
    return x


class _Prepared(NamedTuple):
    """The candidates, embedded: codes (C' x h_s), -log p_B or None, offsets, which are seen."""

    codes: np.ndarray
    fit: np.ndarray | None
    offset: np.ndarray
    is_seen: np.ndarray


def _announcer(training: Training) -> Callback:
    """Tells J after the last block of each round."""

    def announce(n_round: int, block: str, codes: Codes) -> None:
        if block == "W":
            sys.stderr.write(f"JLSE round {n_round}: J = {training.objective().total:.6g}\n")

    return announce
