"""Which classes a call is about: the candidates, labels that must be among them, and ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import as_names, names_of_rows
from unseen.classes.table import names_and_counts
from unseen.errors import InputError, counted, listed, nearest

if TYPE_CHECKING:
    from unseen.estimators.scoring import Scoring


def candidates_of(model: Scoring, candidates: Any) -> ClassTable:
    """The table of what a user may give for candidates: None for `classes_`, "all", "seen" or
    "unseen", a list of names, or a class table of classes that need not be known before."""
    known = model.class_table_
    if candidates is None:
        return known.select(model.classes_)
    if isinstance(candidates, str):
        return known.select(_group(model, candidates))
    if isinstance(candidates, (list, tuple, np.ndarray)):
        return known.select(_known_names(known, candidates))
    return known.encode(candidates).with_columns_of(known)


def check_one_class(name: Any) -> None:
    """An error for a list in place of a name."""
    if isinstance(name, (list, tuple, set)) or (isinstance(name, np.ndarray) and name.ndim):
        raise InputError("rank takes one class, not a list: give its name alone")


def _group(model: Scoring, word: str) -> np.ndarray:
    groups = {
        "all": np.sort(model.class_table_.names),
        "seen": model.seen_classes_,
        "unseen": model.unseen_classes_,
    }
    if word not in groups:
        raise InputError(
            f"candidates={word!r} is not understood: give {listed(groups)}, a list of names "
            "or a class table"
        )
    if groups[word].size == 0:
        raise InputError("there are no unseen classes: every class of the table has rows")
    return groups[word]


def _known_names(known: ClassTable, candidates: Any) -> np.ndarray:
    names = as_names(candidates, "candidates")
    if names.size == 0:
        raise InputError("the list of candidates is empty")
    if np.unique(names).size < names.size:
        raise InputError("the list of candidates names a class twice")
    unknown = [name for name in names.tolist() if name not in known]
    if unknown:
        hint = nearest(unknown[0], known.names.tolist())
        raise InputError(
            f"no class {unknown[0]!r} is known to the model{hint}; it knows "
            f"{listed(known.names.tolist())}, and `reveal` adds new ones"
        )
    return names


def check_scored(model: Scoring, y: Any, table: ClassTable) -> None:
    """A class that cannot be named would count as an error of the model."""
    labels = names_and_counts(names_of_rows(y))[0].tolist()
    name = next((name for name in labels if name not in table), None)
    if name is None:
        return
    way_out = nearest(name, table.names.tolist())
    if name in model.class_table_:
        group = "seen" if name in model.seen_classes_ else "unseen"
        way_out = f": score with candidates={group!r} or 'all'"
    raise InputError(f"y holds class {name!r}, which is not among the candidates{way_out}")


def n_tied(scores: np.ndarray, best: np.ndarray) -> int:
    """The rows whose best score, in column `best`, several candidates have."""
    is_best = scores == np.take_along_axis(scores, best[:, None], axis=1)
    if np.count_nonzero(is_best) == best.size:  # as a rule; counting row by row takes far longer
        return 0
    return int(np.sum(is_best.sum(axis=1) > 1))


def doubts_of_scores(n_tied: int, n_rows: int) -> Iterator[str]:
    """That several candidates fit most rows equally well."""
    if 2 * n_tied > n_rows:
        yield (
            f"several candidates fit {n_tied:,} of {counted(n_rows, 'row')} equally well; of these "
            "candidates the first is named, which is no better than chance"
        )
