"""Which class is meant: names under several spellings, and label numbers settled by names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.feature_file import FeatureRows, whole_numbers
from unseen.errors import InputError, naming, nearest
from unseen.files import reading
from unseen.support.text import words


def canonical(name: str) -> str:
    """A name without its number, signs and capitals: "028.Brown_Creeper" is "brown creeper"."""
    unnumbered = re.sub(r"^\d+[\W_]+(?=\S)", "", name)
    return re.sub(r"[\W_]+", " ", unnumbered).strip().casefold()


class Spellings:
    """The names of a class table, found under any unambiguous spelling."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = [str(name) for name in names]
        self._exact = set(self.names)
        forms = [canonical(name) for name in self.names]
        # Names that differ only in signs or capitals need their exact spelling.
        self._by_form = {
            form: name
            for form, name in zip(forms, self.names, strict=True)
            if form and forms.count(form) == 1
        }

    def find(self, name: str) -> str | None:
        """The table's spelling of a name, or None."""
        return name if name in self._exact else self._by_form.get(canonical(name))

    def match(self, names: Iterable[str], where: Path, notes: list[str]) -> np.ndarray:
        """The table's spelling of each name; other spellings are noted, unknown names refused."""
        found, respelled = [], []
        for name in map(str, names):
            known = self.find(name)
            if known is None:
                hint = nearest(name, self.names)
                raise InputError(f"{where}: class {name!r} is not in the class table{hint}")
            found.append(known)
            if known != name:
                respelled.append((name, known))
        if respelled:
            name, known = respelled[0]
            notes.append(
                f"{where.name} spells {len(respelled)} class names differently, such as {name!r} "
                f"for {known!r}: matched without regard to numbers, signs and capitals"
            )
        return np.array(found, dtype=str)


def read_numbered(path: Path) -> np.ndarray:
    """Names from lines "number name", in the order of the numbers 1, 2, ..."""
    found: dict[int, str] = {}
    for place, line in enumerate(reading.read_lines(path), start=1):
        number, _, name = line.replace("\t", " ").partition(" ")
        if not number.isdecimal() or not name.strip():
            raise InputError(f"{path}, line {place}: {line[:40]!r} is not a number and a name")
        if int(number) in found:
            raise InputError(f"{path}, line {place}: number {number} appears twice")
        found[int(number)] = name.strip()
    if sorted(found) != list(range(1, len(found) + 1)):
        gap = next(n for n in range(1, len(found) + 1) if n not in found)
        raise InputError(f"{path}: the numbers must run from 1 to {len(found)}, {gap} is missing")
    return words((found[n] for n in sorted(found)), str(path))


def read_names(path: Path, table: Spellings, notes: list[str]) -> np.ndarray:
    """Names of classes, one per line, in the spelling of the table."""
    return table.match((line for line in reading.read_lines(path) if line), path, notes)


def names_in_paths(paths: np.ndarray, table: Spellings) -> np.ndarray:
    """The class that the folder of each image names, or an empty string.

    A name may span folders, as `temple/south_asia` does, so the longest ending that is one counts.
    """
    folders = [str(path).replace("\\", "/").rpartition("/")[0] for path in paths]
    found = {folder: _class_of(folder, table) for folder in set(folders)}
    return np.array([found[folder] for folder in folders], dtype=str)


def _class_of(folder: str, table: Spellings) -> str:
    parts = folder.split("/")
    ends = ("/".join(parts[k:]) for k in range(len(parts)))
    return next((name for name in map(table.find, ends) if name), "")


# -- label numbers ------------------------------------------------------------------------------


def label_names(
    labels: Any, names: np.ndarray, where: Path, what: str = "labels", first: int = 1
) -> np.ndarray:
    """The names that numbers stand for; `first` is the number of the first name."""
    if labels is None:
        raise InputError(f"{where} has no labels: class numbers counted from {first} are needed")
    with naming(where):
        numbers = whole_numbers(labels, what, first)
    last = names.size + first - 1
    if numbers.size and numbers.max() > last:
        row = int(numbers.argmax())
        is_from_one = numbers.min() > first == 0 and numbers.max() == names.size
        hint = "; are these counted from 1?" if is_from_one else ""
        raise InputError(
            f"{where}: {what} has {numbers[row]} at place {row} (counted from 0), but the "
            f"{names.size} classes are numbered from {first} to {last}{hint}"
        )
    return names[numbers - first]


def settle_labels(
    rows: FeatureRows,
    spellings: Spellings,
    listed: np.ndarray | None,
    where: Path,
    notes: list[str],
) -> np.ndarray:
    """The class name of each row of a feature file whose labels are numbers.

    Image paths decide if they name classes, then `listed` (the names of classes.txt), and last the
    order of the class table, which public files do not always follow.
    """
    columns = np.array(spellings.names)
    order, source = (columns, "allclasses_names") if listed is None else (listed, "classes.txt")
    by_number = label_names(rows.labels, order, where)
    labels = np.ravel(rows.labels).astype(int)
    shown = _label_to_name(labels, rows.image_files, spellings, where)
    n_labels = np.unique(labels).size
    if shown and len(shown) == n_labels and listed is None:
        by_path = columns.copy()
        by_path[[k - 1 for k in shown]] = list(shown.values())
        note_order(columns, by_path, "image paths", notes)
        return by_path[labels - 1]
    odd = next((k for k, name in shown.items() if order[k - 1] != name), None)
    if odd is not None:
        raise InputError(
            f"{where}: images of label {odd} are in the folder of {shown[odd]!r}, but number {odd} "
            f"of {source} is {order[odd - 1].item()!r}; the files do not belong together"
        )
    if listed is not None:
        note_order(columns, listed, source, notes)
    elif shown:
        notes.append(
            f"image paths name the classes of {len(shown)} of {n_labels} labels, as {source} does; "
            "the others follow its order"
        )
    else:
        notes.append("no image path or class list names classes: label k is column k of att")
    return by_number


def _label_to_name(
    labels: np.ndarray, images: np.ndarray | None, spellings: Spellings, where: Path
) -> dict[int, str]:
    """The class that image paths give each label; empty if they do not tell classes apart."""
    if images is None:
        return {}
    if images.size != labels.size:
        raise InputError(f"{where}: {labels.size} labels but {images.size} image paths")
    in_paths = names_in_paths(images, spellings)
    named = in_paths != ""
    pairs = sorted(set(zip(labels[named].tolist(), in_paths[named].tolist(), strict=True)))
    # One folder for all images, as "train" may be, is not the class of that name.
    if len({name for _, name in pairs}) < 2:
        return {}
    for (label, name), (other_label, other) in combinations(pairs, 2):
        if label == other_label or name == other:
            raise InputError(
                f"{where}: label {label} has images in the folder of {name!r}, label {other_label} "
                f"in that of {other!r}; labels and image paths are in different orders"
            )
    return dict(pairs)


def note_order(columns: np.ndarray, order: np.ndarray, source: str, notes: list[str]) -> None:
    """Note if label numbers do not follow the columns of the class table."""
    differ = np.flatnonzero(columns != order)
    if differ.size:
        k = int(differ[0])
        notes.append(
            f"label numbers do not follow the columns of att: label {k + 1} is "
            f"{order[k].item()!r} ({source}), column {k + 1} is {columns[k].item()!r}; matched by "
            "name"
        )
