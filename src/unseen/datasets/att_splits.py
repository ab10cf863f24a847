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
    """Names, descriptions (C x d, unscaled if the file has them) and row numbers from 0."""

    path: Path
    names: np.ndarray | None
    vectors: np.ndarray
    rows: Mapping[str, np.ndarray]

    @property
    def n_rows(self) -> int:
        return sum(self.rows[name].size for name in _MAIN)


def read_att_splits(path: Path) -> SplitFile:
    """Read a split file; lists must not overlap.

    `original_att` is preferred to `att`, which is scaled to length 1 per class. `train_loc` and
    `val_loc` are not read: in several copies they hold test rows.
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
            raise InputError(f"{name} repeats a row number; download the file again")
    for first, second in combinations(_MAIN, 2):
        n_common = np.intersect1d(rows[first], rows[second]).size
        if n_common:
            common = counted(n_common, "row")
            raise InputError(f"{first} and {second} must not overlap: they share {common}")


def fill_unknown(vectors: np.ndarray, where: Path, notes: list[str]) -> np.ndarray:
    """-1 in a table without other negative numbers means unknown; the attribute's mean instead."""
    is_unknown = vectors == -1
    if not is_unknown.any() or (vectors[~is_unknown] < 0).any():
        return vectors
    known = (~is_unknown).sum(axis=0)
    means = np.where(is_unknown, 0, vectors).sum(axis=0) / np.maximum(known, 1)
    notes.append(
        f"{where.name}: {counted(int(is_unknown.sum()), 'value')} of "
        f"{counted(int(is_unknown.any(axis=1).sum()), 'class')} unknown (-1), replaced by the mean "
        "of the attribute over the other classes"
    )
    return np.where(is_unknown, means, vectors)


# -- the proposed split -------------------------------------------------------------------------


def exact_split(splits: SplitFile, y: np.ndarray, notes: list[str]) -> Split:
    """The proposed split of features that are in the order of the split file."""
    last = max(numbers.max(initial=0) for numbers in splits.rows.values())
    if last >= y.size:
        raise InputError(
            f"{splits.path}: row numbers go up to {last + 1}, but the features have {y.size} rows; "
            "the two files do not belong together"
        )
    trained, tested, unseen = (np.unique(y[splits.rows[name]]) for name in _MAIN)
    common = np.intersect1d(unseen, np.union1d(trained, tested))
    if common.size:
        raise InputError(
            f"{splits.path}: class {common[0].item()!r} is both seen and in test_unseen_loc; "
            "labels and lists do not belong together"
        )
    if splits.n_rows != y.size:
        notes.append(
            f"{splits.path.name} lists {splits.n_rows:,} of {y.size:,} rows; the others are used "
            "for training if their class is seen, else for testing"
        )
    return Split(unseen, splits.rows["test_seen_loc"])


def proposed_split(
    data: Published, table: Spellings, y: np.ndarray, same_images: bool = True
) -> dict[str, Split]:
    """The proposed split of features that may be in another order than the split file.

    An order of rows fits if the lists, read in it, keep whole classes unseen. Test rows of seen
    classes come from the lists if an order fits and `same_images` says that images within a class
    are in the order of the file; otherwise every fifth row is one.
    """
    splits = data.split_file
    if splits is None:
        return {}
    order, unseen = _fitting_order(splits, y, _proposed_classes(data, table), data.notes)
    name = splits.path.name
    if unseen is None:
        data.notes.append(
            f"{name} is left out: its row numbers do not tell which classes of the features are "
            "unseen; a list of their names, ps_testclasses.txt, would settle it"
        )
        return {}
    if order is not None and same_images:
        return {"proposed": Split(unseen, np.sort(order[splits.rows["test_seen_loc"]]))}
    why = "differ in number" if order is None else "are in another order within each class"
    data.notes.append(
        f"{name}: the images of the features {why}, so test_seen_loc does not apply; every fifth "
        "row of a seen class is kept for testing instead"
    )
    return {"proposed": Split(unseen, every_fifth(y, unseen))}


def _proposed_classes(data: Published, table: Spellings) -> np.ndarray | None:
    """The names of the unseen classes of the proposed split, if there is a list of them."""
    name = "ps_testclasses.txt"
    return read_names(data.use(name), table, data.notes) if data.has(name) else None


def _fitting_order(
    splits: SplitFile, y: np.ndarray, beside: np.ndarray | None, notes: list[str]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The order of rows that the lists refer to, and the unseen classes; None if not known."""
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
            raise InputError(f"{splits.path} and ps_testclasses.txt differ in {listed(odd)}")
    # Classes of equal size fit in any order of classes, so two answers are no answer.
    if fits[0][1] != fits[-1][1]:
        return None, None
    order = fits[0][0]
    if order is by_name:
        notes.append(
            f"{splits.path.name} numbers images in alphabetical order of class, unlike the "
            "features: mapped by position within the class"
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
    """Every fifth row of each seen class: a choice that depends on nothing else."""
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
