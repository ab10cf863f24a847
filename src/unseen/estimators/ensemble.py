"""Ensemble: several methods that vote with their scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError, listed, naming, nearest
from unseen.estimators import METHODS, method
from unseen.estimators.base import ZeroShotClassifier
from unseen.storage.models import check_parts
from unseen.support.parameters import (
    NOT_NEGATIVE,
    Choice,
    Composite,
    changed_parameters,
    check_names,
    has_parameters,
    is_float_array,
    parameter,
)
from unseen.support.registry import word_of
from unseen.support.work import tell
from unseen.training.mixing import Scored, mixing_weights

# Chosen by held-out classes of four data sets, see docs/methods.md.
_DEFAULT = ("gaussian-match", "kernel-jlse")
_FEWEST_CLASSES = 4
_N_SPLITS = 3
# So many training rows tell how far the scores of a member spread.
_MOST_ROWS = 2_000


@has_parameters
class Ensemble(ZeroShotClassifier):
    """The weighted mean of the scores of several methods, each in units of its own spread.

        F(s, x) = Σ_m α_m F_m(s, x) / σ_m,     σ_m² = mean over rows of var_c F_m(s_c, x)

    with F_m the score of member m, and σ_m how far it spreads over the seen classes within a
    training row. σ_m is one number per member, not one per row: a row then scores the same with a
    class whatever the other candidates are, and scores compare from row to row for retrieval.

    Parameters
    ----------
    members : names of methods or estimators, in a list; names may also stand in one string,
        separated by commas. None for gaussian-match and kernel-jlse. A parameter of a member is a
        parameter of the ensemble: `set_params(members__gaussian_match__misfit=0.05)`.
    weights : the α_m: None for equal ones, a list with a number for each member, or "holdout" to
        learn them in `fit` from seen classes held out, three times a fifth of them, which makes a
        fit about four times as long.

    Attributes
    ----------
    members_ : the fitted members.
    member_scales_ : σ_m.
    member_weights_ : α_m, which sum to one.
    """

    members: Sequence[Any] | str | None = parameter(None, None, list, tuple, str)
    weights: Sequence[float] | str | None = parameter(
        None, None, Choice("holdout"), list, tuple, tries=[None, "holdout"]
    )

    # -- members as parameters ------------------------------------------------------------------

    def _chosen(self) -> dict[str, ZeroShotClassifier]:
        """The members, not fitted, by the names under which their parameters are reached."""
        given = _DEFAULT if self.members is None else self.members
        if isinstance(given, str):
            given = [word.strip() for word in given.split(",")]
        if not isinstance(given, (list, tuple)) or not given:
            raise InputError(f"members must be a list of at least one method, not {given!r}")
        found: dict[str, ZeroShotClassifier] = {}
        for one in given:
            member = _member(one)
            label = re.sub(r"\W+", "_", _word(member))
            n_alike = sum(re.fullmatch(rf"{label}(_\d+)?", known) is not None for known in found)
            found[f"{label}_{n_alike + 1}" if n_alike else label] = member
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` those of the members too."""
        found = super().get_params(deep=deep)
        if not deep:
            return found
        try:
            chosen = self._chosen()
        except InputError:  # `fit` says what is wrong
            return found
        for label, member in chosen.items():
            inner = member.get_params().items()
            found |= {f"members__{label}__{name}": value for name, value in inner}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; a member that is changed is copied first, as others may have it too."""
        inside = {k: parameters.pop(k) for k in list(parameters) if k.startswith("members__")}
        super().set_params(**parameters)
        if not inside:
            return self
        check_names(inside, self.get_params(), type(self).__name__)
        members = self._chosen()
        for label, member in members.items():
            start = f"members__{label}__"
            own = {k.removeprefix(start): v for k, v in inside.items() if k.startswith(start)}
            if own:
                copy: Any = clone(member)
                members[label] = copy.set_params(**own)
        self.members = list(members.values())
        return self

    def _inside(self, name: str) -> tuple[Composite, str] | None:
        first, _, rest = name.partition("__")
        label, _, rest = rest.partition("__")
        member = self._chosen().get(label) if first == "members" and rest else None
        return super()._inside(name) if member is None else (member, rest)

    def _values(self) -> dict[str, Any]:
        chosen = self._chosen()
        found = super()._values() | {"members": [_word(member) for member in chosen.values()]}
        for label, member in chosen.items():
            changed = changed_parameters(member).items()
            found |= {f"members__{label}__{name}": value for name, value in changed}
        return found

    def _check_parameters(self) -> None:
        super()._check_parameters()
        chosen = self._chosen()
        for label, member in chosen.items():
            with naming(f"member {label}"):
                member._check_parameters()
        if self.weights is None or isinstance(self.weights, str):
            return
        are_numbers = all(NOT_NEGATIVE.is_satisfied_by(weight) for weight in self.weights)
        if not are_numbers or len(self.weights) != len(chosen) or not sum(self.weights) > 0:
            raise InputError(
                f"weights must be {len(chosen)} numbers, one for each of "
                f"{listed(chosen, len(chosen))}, not negative and not all zero, "
                f"not {self.weights!r}"
            )

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        names = table.names[labels]
        weights = np.ones(len(self._chosen())) if self.weights is None else self.weights
        if isinstance(weights, str):
            weights = self._learned_weights(X, names, table)
        members = self._fitted(X, names, table, "")
        self.members_ = members
        self.member_scales_ = np.array([_spread(member, X, labels) for member in members])
        self.member_weights_ = np.asarray(weights, dtype=np.float64) / np.sum(weights)

    def _fitted(
        self, X: np.ndarray, names: np.ndarray, table: ClassTable, when: str
    ) -> list[ZeroShotClassifier]:
        """Copies of the members, fitted on these rows."""
        made = []
        for label, member in self._chosen().items():
            tell(f"{label}{when}")
            copy: Any = clone(member)
            made.append(copy.fit(X, names, classes=table))
        return made

    def _learned_weights(
        self, X: np.ndarray, names: np.ndarray, table: ClassTable
    ) -> np.ndarray | list[float]:
        """Weights by classes that copies of the members have not seen."""
        if len(self._chosen()) == 1:
            return [1.0]
        if table.n_classes < _FEWEST_CLASSES:
            raise InputError(
                f"weights='holdout' needs at least {_FEWEST_CLASSES} seen classes, two to hold out "
                f"and two to train on, there are {table.n_classes}; weights=None needs none"
            )
        splits = []
        for number, (kept, held) in enumerate(ClassHoldout(0.2, _N_SPLITS).split(X, names), 1):
            when = f", held-out classes {number} of {_N_SPLITS}"
            rows = X[kept]
            members = self._fitted(rows, names[kept], table.select(np.unique(names[kept])), when)
            known = np.unique(names[kept], return_inverse=True)[1]
            new, truth = np.unique(names[held], return_inverse=True)
            scores = [
                m.similarities(X[held], table.select(new)) / _spread(m, rows, known)
                for m in members
            ]
            splits.append(Scored(np.stack(scores), truth))
        return mixing_weights(splits)

    # -- test time ------------------------------------------------------------------------------

    def _prepare(self, table: ClassTable) -> list[Any]:
        return [member._prepare(table) for member in self.members_]

    def _score(self, X: np.ndarray, prepared: list[Any]) -> np.ndarray:
        factors = (self.member_weights_ / self.member_scales_).tolist()
        parts = zip(self.members_, prepared, factors, strict=True)
        return reduce(np.add, (f * member._score(X, ready) for member, ready, f in parts if f))

    def _gallery_codes(self, X: np.ndarray) -> np.ndarray:
        raise InputError("an ensemble has no index: index its members one by one (`members_`)")

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        """The codes of all members side by side."""
        return np.hstack([member._row_codes(X) for member in self.members_])

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        return np.hstack([member._class_codes(table) for member in self.members_])

    def _check_state(self) -> None:
        members = vars(self).get("members_")
        are_models = isinstance(members, list) and members
        if not are_models or not all(isinstance(m, ZeroShotClassifier) for m in self.members_):
            raise InputError("it has no members")
        for member in self.members_:
            if (
                member.n_features_in_ != self.n_features_in_
                or not np.array_equal(member.seen_classes_, self.seen_classes_)
                or member.class_table_.n_attributes != self.class_table_.n_attributes
            ):
                raise InputError("its members were not trained on the same data")
            check_parts(member)
        for name, least in (("member_scales_", np.finfo(float).tiny), ("member_weights_", 0.0)):
            values: Any = vars(self).get(name)
            fits = is_float_array(values, 1) and values.size == len(self.members_)
            if not fits or not np.isfinite(values).all() or values.min() < least:
                raise InputError("it does not have one scale and one weight for each member")
        super()._check_state()


def _member(given: Any) -> ZeroShotClassifier:
    """The estimator that is given or named."""
    if isinstance(given, ZeroShotClassifier):
        return given
    if not isinstance(given, str):
        raise InputError(f"members must be methods, by name or as in ESZSL(), not {given!r}")
    if given.casefold() not in METHODS:
        hint = nearest(given, METHODS)
        known = listed(METHODS, len(METHODS))
        raise InputError(f"members must be methods, not {given!r}{hint}; there are {known}")
    return method(given)()


def _word(member: ZeroShotClassifier) -> str:
    """The name of a method, that of its class if it is none of the library."""
    word = word_of(type(member))
    return type(member).__name__ if word is None or ":" in word else word


def _spread(member: ZeroShotClassifier, X: np.ndarray, labels: np.ndarray) -> float:
    """σ_m, by training rows of all classes."""
    order = np.argsort(labels, kind="stable")
    rows = order[:: -(-order.size // _MOST_ROWS)]
    scores = member.similarities(X[np.sort(rows)], "seen").astype(np.float64)
    scores -= scores.mean(axis=1, keepdims=True)
    return float(np.sqrt(np.mean(scores**2))) or 1.0
