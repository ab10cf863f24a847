"""Which class a label number means: settled by names wherever the files have any."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from unseen.errors import InputError


def label_names(labels: np.ndarray, names: np.ndarray, where: Path) -> np.ndarray:
    """The name of each row, label k being the k-th name."""
    if labels.size and labels.max() > names.size:
        row = int(labels.argmax())
        raise InputError(
            f"{where}: label {labels[row]} of row {row} (counted from 0) is outside the "
            f"{names.size} classes of the table; labels run from 1 to {names.size}"
        )
    return names[labels - 1]


def settle_labels(
    labels: np.ndarray,
    in_paths: np.ndarray | None,
    columns: np.ndarray,
    listed: np.ndarray | None,
    where: Path,
    notes: list[str],
) -> np.ndarray:
    """The class name of each row of a feature file whose labels are numbers.

    Image paths decide where they name classes, then `listed` (the names of classes.txt), and only
    then `columns`, the order of the class table, which public files do not always keep to.
    """
    order, source = (columns, "allclasses_names") if listed is None else (listed, "classes.txt")
    by_number = label_names(labels, order, where)
    shown = _label_to_name(labels, in_paths, where)
    n_labels = np.unique(labels).size
    if shown and len(shown) == n_labels and listed is None:
        by_path = columns.copy()
        by_path[[k - 1 for k in shown]] = list(shown.values())
        note_order(columns, by_path, "image paths", notes)
        return by_path[labels - 1]
    _check_agreement(shown, order, source, where)
    if listed is not None:
        note_order(columns, listed, source, notes)
    elif shown:
        notes.append(
            f"image paths name the class of {len(shown)} of {n_labels} labels, all as {source} "
            "does; the others are taken in its order"
        )
    else:
        notes.append(
            "no image path or class list names the class of a row: label k is taken for the k-th "
            "column of att"
        )
    return by_number


def _check_agreement(shown: dict[int, str], order: np.ndarray, source: str, where: Path) -> None:
    for k, name in shown.items():
        if order[k - 1] != name:
            raise InputError(
                f"{where}: images of label {k} lie in the folder of {name!r}, but number {k} of "
                f"{source} is {order[k - 1].item()!r}; the files do not belong together"
            )


def _label_to_name(labels: np.ndarray, in_paths: np.ndarray | None, where: Path) -> dict[int, str]:
    """What the image paths say of each label; nothing if they do not tell classes apart."""
    if in_paths is None:
        return {}
    if in_paths.size != labels.size:
        raise InputError(f"{where}: {labels.size} labels but {in_paths.size} image paths")
    named = np.flatnonzero(in_paths != "")
    pairs = sorted(set(zip(labels[named].tolist(), in_paths[named].tolist(), strict=True)))
    # One folder for all images, as "train" may be, is not the class of that name.
    if len({name for _, name in pairs}) < 2:
        return {}
    for (first, name), (second, other) in pairwise(pairs):
        if first == second:
            raise InputError(
                f"{where}: label {first} has images in the folders of {name!r} and of {other!r}; "
                "labels and image paths are not in the same order"
            )
    names = [name for _, name in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{where}: the folder of {twice!r} holds images of several labels; labels and image "
            "paths are not in the same order"
        )
    return dict(pairs)


def note_order(columns: np.ndarray, order: np.ndarray, source: str, notes: list[str]) -> None:
    """Note where label numbers do not follow the columns of the class table."""
    differ = np.flatnonzero(columns != order)
    if differ.size:
        k = int(differ[0])
        notes.append(
            f"label numbers do not follow the columns of att: label {k + 1} is "
            f"{order[k].item()!r} ({source}), column {k + 1} is {columns[k].item()!r}; matched by "
            "name"
        )
