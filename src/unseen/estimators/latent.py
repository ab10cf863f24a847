"""What JLSE and KernelJLSE share: a latent model, made by training, used by a test-time part."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators.explanation import Explanation, explain
from unseen.estimators.matching import PairMatching
from unseen.inference.scorer import Candidates, DataFit, Scorer, decision_scores
from unseen.model.latent import LatentModel
from unseen.model.spaces import Spaces
from unseen.pairs.loss import Pairs
from unseen.rows.training import TrainingRows
from unseen.support.threads import threads_for
from unseen.training.alternating import Data
from unseen.training.initialize import Choices, begin

# Sets of candidates whose embedding is kept.
_MOST_KEPT = 8


class LatentClassifier(PairMatching, Choices):
    """A classifier whose fitted state is a `LatentModel`.

    A method says what is trained (`Choices`) and in which spaces (`_spaces`); its parts
    `training` and `testing` say how, and `decision` what a class is chosen by.

    Attributes after `fit`
    ----------------------
    latent_ : the `LatentModel`: B, D, W, b, codes and scaling.
    history_ : J (G in Algorithm 1) and its parts, one row per round: source, target, pairs,
        penalty, total.
    n_iter_ : rounds of training that were run.
    """

    latent_: LatentModel
    history_: np.ndarray
    n_iter_: int
    decision: int
    positive_weight: float | str
    # The pair loss of training, and the form of log p_W that classes are chosen by.
    _loss = "hinge"
    _link = "saturating"

    # -- training -------------------------------------------------------------------------------

    def _spaces(self, X: np.ndarray, vectors: np.ndarray) -> Spaces:
        """Rows and descriptions in the spaces of D and B."""
        raise TypeError(f"{type(self).__name__} must define _spaces")

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        self._check_parameters()
        self._forget_pairs()
        algorithm = self._part("training")
        pairs = Pairs.weighted(labels, table.n_classes, self.positive_weight, self._loss)
        work = X.shape[0] * min(self.n_target_atoms, X.shape[1]) * table.n_classes
        with threads_for(work), self._checkpoint(X, labels, table) as checkpoint:
            spaces = self._spaces(X, table.vectors)
            S = spaces.describe(table.vectors).astype(X.dtype)
            data = Data(S, TrainingRows(X, spaces.rows), pairs)
            training = begin(data, self, algorithm.block_tol, checkpoint.state("rounds"))
            algorithm.run(training, checkpoint)
        self.latent_ = training.model(spaces, self._link if labels.ndim == 1 else "margin")
        self.history_ = np.array([[*parts, parts.total] for parts in training.history])
        self.n_iter_ = training.n_rounds
        self._kept = {}

    # -- test time ------------------------------------------------------------------------------

    @property
    def test_time_parameters(self) -> frozenset[str]:
        return frozenset(("testing", "decision"))

    def _check_parameters(self) -> None:
        if self.decision not in (1, 2):
            raise InputError(f"decision must be 1 or 2, not {self.decision!r}")

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
        """The number of each class in training, -1 for others and for one described anew."""
        if self._has_pairs:
            return self._known_sources(table)
        known = self.class_table_.select(self.seen_classes_).vectors
        number = np.searchsorted(self.seen_classes_, table.names)
        number = np.minimum(number, self.seen_classes_.size - 1)
        is_seen = self.seen_classes_[number] == table.names
        is_seen &= np.isclose(table.vectors, known[number]).all(axis=1)
        return np.where(is_seen, number, -1)

    def _score(self, X: np.ndarray, prepared: Candidates) -> np.ndarray:
        return self._scorer.scores(self.latent_.project(X), prepared)

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return self._scorer.embed_rows(self.latent_.project(X))

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return self._prepare(table).codes

    def _n_codes(self) -> int:
        return self.latent_.W.shape[1]

    def explain(self, x: Any, name: Any = None, top: int = 5) -> Explanation:
        """Why the row x is, or is not, of the class `name`: latent links and attributes.

        Without a name the class is the one that x is predicted to be of. What is taken apart is
        the similarity z_s' W z_t + b; what the decision adds to it for a class as a whole (the fit
        of its description, an offset) is the same for every row.
        """
        x = _as_row(x)
        name = self.predict(x)[0] if name is None else name
        table = self._candidates([name])
        score = float(self.similarities(x, [name])[0, 0])
        row = np.concatenate(list(self._row_blocks(x)))
        prepared, latent = self._prepare(table), self.latent_
        seen = bool(prepared.is_seen[0])
        code = self._scorer.embed_rows(latent.project(row), seen=seen)[0]
        return explain(
            name,
            score,
            prepared.codes[0],
            code,
            latent,
            table.vectors[0],
            self.class_table_.select(self.seen_classes_),
            top,
        )

    def _even_score(self) -> float:
        return float(decision_scores(np.zeros(1), self.latent_.loss, self.latent_.link)[0])

    def _check_state(self) -> None:
        self._check_pairs()
        if not isinstance(self.latent_, LatentModel):
            raise InputError("it has no latent model")
        self.latent_.check(
            self.n_features_in_, self.class_table_.vectors.shape[1], self.seen_classes_.size
        )


def _as_row(x: Any) -> Any:
    """One row as a table of one row; names of columns are kept."""
    if np.ndim(x) == 1:
        return x.to_frame().T if hasattr(x, "to_frame") else np.reshape(x, (1, -1))
    if np.ndim(x) != 2 or len(x) != 1:
        raise InputError(f"explain takes one row, not an array of shape {np.shape(x)}")
    return x
