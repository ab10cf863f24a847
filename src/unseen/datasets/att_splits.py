"""The split file of Xian et al., `att_splits.mat`: class descriptions and lists of row numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.datasets.class_names import Spellings, read_names
from unseen.datasets.dataset import Split
from unseen.datasets.feature_file import whole_numbers
from unseen.errors import InputError, counted, listed, naming
from unseen.files import reading

if TYPE_CHECKING:
    from unseen.datasets.published import Published

_MAIN = ("trainval_loc", "test_seen_loc", "test_unseen_loc")


@dataclass(frozen=True)
class SplitFile:
    """Names, descriptions (C x d, raw where the file has them raw) and row numbers from 0."""

    path: Path
    names: np.ndarray | None
    vectors: np.ndarray
    rows: Mapping[str, np.ndarray]

    @property
    def n_rows(self) -> int:
        return sum(self.rows[name].size for name in _MAIN)


def read_att_splits(path: Path) -> SplitFile:
    """Read a split file; lists that overlap are refused.

    `original_att` is read where it is there, as `att` is scaled to length 1 per class. `train_loc`
    and `val_loc` are not: in several copies they hold test rows.
    """
    content = reading.read_mat(path, ["allclasses_names", "att", "original_att", *_MAIN])
    with naming(path):
        vectors = reading.pick(content, ("original_att", "att"), path, "class vectors").T
        names = content.get("allclasses_names")
        names = None if names is None else reading.mat_strings(names)
        if names is not None and names.size != vectors.shape[0]:
            raise InputError(f"{names.size} class names but {vectors.shape[0]} columns of att")
        rows = {
            name: whole_numbers(reading.pick(content, (name,), path, "row numbers"), name) - 1
            for name in _MAIN
        }
        _check_lists(rows)
    return SplitFile(path, names, vectors, rows)


def _check_lists(rows: Mapping[str, np.ndarray]) -> None:
    for name, numbers in rows.items():
        if np.unique(numbers).size < numbers.size:
            raise InputError(f"{name} has a row number twice; get the file again")
    for first, second in combinations(_MAIN, 2):
        n_common = np.intersect1d(rows[first], rows[second]).size
        if n_common:
            raise InputError(
                f"{first} and {second} have {counted(n_common, 'row')} in common: training and "
                "test rows must not overlap"
            )


def fill_unknown(vectors: np.ndarray, where: Path, notes: list[str]) -> np.ndarray:
    """-1 in a table that has no other negative number means unknown: the attribute's mean."""
    is_unknown = vectors == -1
    if not is_unknown.any() or (vectors[~is_unknown] < 0).any():
        return vectors
    known = (~is_unknown).sum(axis=0)
    means = np.where(is_unknown, 0, vectors).sum(axis=0) / np.maximum(known, 1)
    notes.append(
        f"{where.name}: {counted(int(is_unknown.sum()), 'value')} of "
        f"{counted(int(is_unknown.any(axis=1).sum()), 'class')} unknown (-1), replaced by the mean "
        "of the attribute over the classes that know it"
    )
    return np.where(is_unknown, means, vectors)


# -- the proposed split -------------------------------------------------------------------------


def exact_split(splits: SplitFile, y: np.ndarray, notes: list[str]) -> Split:
    """The proposed split of features that are in the order of the split file."""
    last = max(numbers.max(initial=0) for numbers in splits.rows.values())
    if last >= y.size:
        raise InputError(
            f"{splits.path}: its row numbers go up to {last + 1}, but the features have {y.size} "
            "rows; the two files do not belong together"
        )
    trained, tested, unseen = (np.unique(y[splits.rows[name]]) for name in _MAIN)
    common = np.intersect1d(unseen, np.union1d(trained, tested))
    if common.size:
        raise InputError(
            f"{splits.path}: class {common[0].item()!r} has rows in test_unseen_loc and among the "
            "seen ones; labels and lists do not belong together"
        )
    if splits.n_rows != y.size:
        notes.append(
            f"{splits.path.name} lists {splits.n_rows:,} of {y.size:,} rows; rows of seen classes "
            "in no list are trained on, those of unseen classes are tested"
        )
    return Split(unseen, splits.rows["test_seen_loc"])


def proposed_split(
    data: Published, table: Spellings, y: np.ndarray, same_images: bool = True
) -> dict[str, Split]:
    """The proposed split of features that may be in another order than the split file.

    An order of rows fits if the lists, read in it, keep whole classes as unseen. Rows of seen
    classes are looked up only if an order fits and `same_images` says that images within a class
    are in the order of the file; otherwise a fifth of each seen class is kept.
    """
    splits = data.split_file
    if splits is None:
        return {}
    order, unseen = _fitting_order(splits, y, _proposed_classes(data, table), data.notes)
    name = splits.path.name
    if unseen is None:
        data.notes.append(
            f"{name}: its row numbers do not tell which classes of the features are unseen, so its "
            "split is left out; a list of their names, ps_testclasses.txt, would settle it"
        )
        return {}
    if order is not None and same_images:
        return {"proposed": Split(unseen, np.sort(order[splits.rows["test_seen_loc"]]))}
    why = "differ in number" if order is None else "are in another order within each class"
    data.notes.append(
        f"{name}: the images of the features {why}, so test_seen_loc does not hold for them; every "
        "fifth row of a seen class is kept for testing instead"
    )
    return {"proposed": Split(unseen, every_fifth(y, unseen))}


def _proposed_classes(data: Published, table: Spellings) -> np.ndarray | None:
    """The unseen classes of the proposed split by name, where a list of them is there."""
    name = "ps_testclasses.txt"
    return read_names(data.use(name), table, data.notes) if data.has(name) else None


def _fitting_order(
    splits: SplitFile, y: np.ndarray, beside: np.ndarray | None, notes: list[str]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The order of rows that the lists count in, and the unseen classes; None what is not known."""
    as_stored, by_name = np.arange(y.size), np.argsort(y, kind="stable")
    found = [(order, _unseen_in_order(splits, y, order)) for order in (as_stored, by_name)]
    fits = [(order, set(unseen.tolist())) for order, unseen in found if unseen is not None]
    if not fits:
        return None, beside
    if beside is not None:
        wanted = set(beside.tolist())
        odd = sorted(fits[0][1] ^ wanted)
        fits = [(order, unseen) for order, unseen in fits if unseen == wanted]
        if not fits:
            raise InputError(
                f"{splits.path}: its lists and the list of test classes beside it differ in "
                f"{listed(odd)}"
            )
    # Classes of one size fit in any order of classes, so two answers are no answer.
    if fits[0][1] != fits[-1][1]:
        return None, None
    order = fits[0][0]
    if order is by_name:
        notes.append(
            f"{splits.path.name} numbers images in alphabetical order of class, the features are "
            "in another: mapped by place within the class"
        )
    return order, np.array(sorted(fits[0][1]), dtype=str)


def _unseen_in_order(splits: SplitFile, y: np.ndarray, order: np.ndarray) -> np.ndarray | None:
    """The unseen classes if the lists, read in this order of rows, keep whole classes apart."""
    if splits.n_rows != y.size or any(r.max(initial=0) >= y.size for r in splits.rows.values()):
        return None
    rows = order[splits.rows["test_unseen_loc"]]
    unseen = np.unique(y[rows])
    return unseen if np.isin(y, unseen).sum() == rows.size else None


def every_fifth(y: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """Every fifth row of each seen class: a partition that depends on nothing else."""
    order = np.argsort(y, kind="stable")
    _, starts, counts = np.unique(y[order], return_index=True, return_counts=True)
    place = np.arange(y.size) - np.repeat(starts, counts)
    rows = order[place % 5 == 4]
    return np.sort(rows[~np.isin(y[rows], unseen)])


def original_split(
    data: Published, table: Spellings, proposed: Mapping[str, Split]
) -> dict[str, Split]:
    """The split of testclasses.txt, unless the file holds the classes of the proposed split."""
    if not data.has("testclasses.txt"):
        return {}
    unseen = read_names(data.use("testclasses.txt"), table, data.notes)
    if data.has("trainclasses.txt"):
        path = data.use("trainclasses.txt")
        both = np.intersect1d(read_names(path, table, data.notes), unseen)
        if both.size:
            raise InputError(f"{path}: class {both[0].item()!r} is in testclasses.txt as well")
    if any(set(unseen) == set(other.unseen) for other in proposed.values()):
        return {}
    return {"original": Split(unseen)}
