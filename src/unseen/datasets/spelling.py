"""One class under several spellings: the lists of a data set do not write its names alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unseen import files
from unseen.errors import InputError, nearest


def canonical(name: str) -> str:
    """A name without its number, signs and capitals: "028.Brown_Creeper" is "brown creeper"."""
    unnumbered = re.sub(r"^\d+[\W_]+(?=\S)", "", name)
    return re.sub(r"[\W_]+", " ", unnumbered).strip().casefold()


class Spellings:
    """The names of a class table, found under any spelling that tells them apart."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = [str(name) for name in names]
        self._exact = set(self.names)
        forms = [canonical(name) for name in self.names]
        # Names that differ in signs or capitals alone are met by their exact spelling only.
        self._by_form = {
            form: name
            for form, name in zip(forms, self.names, strict=True)
            if form and forms.count(form) == 1
        }

    def find(self, name: str) -> str | None:
        """The table's spelling of a name, or None if the table does not have it."""
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
                f"{where.name} spells {len(respelled)} class names differently, as {name!r} for "
                f"{known!r}: matched without regard to numbers, signs and capitals"
            )
        return np.array(found, dtype=str)


def read_numbered(path: Path) -> np.ndarray:
    """Names from lines "number name", in the order of the numbers 1, 2, ..., not of the lines."""
    found: dict[int, str] = {}
    for place, line in enumerate(files.read_lines(path), start=1):
        number, _, name = line.replace("\t", " ").partition(" ")
        if not number.isdecimal() or not name.strip():
            raise InputError(f"{path}, line {place}: {line[:40]!r} is not a number and a name")
        if int(number) in found:
            raise InputError(f"{path}, line {place}: number {number} appears twice")
        found[int(number)] = name.strip()
    if sorted(found) != list(range(1, len(found) + 1)):
        gap = next(n for n in range(1, len(found) + 1) if n not in found)
        raise InputError(f"{path}: the numbers must run from 1 to {len(found)}, {gap} is missing")
    return np.array([found[n] for n in sorted(found)], dtype=str)


def read_names(path: Path, table: Spellings, notes: list[str]) -> np.ndarray:
    """Names of classes, one per line, in the spelling of the table."""
    return table.match((line for line in files.read_lines(path) if line), path, notes)


def names_in_paths(paths: np.ndarray, table: Spellings) -> np.ndarray:
    """The class that the folder of each image names, empty where it names none.

    A class may span folders, as `temple/south_asia` does, so the longest end that is a name counts.
    """
    folders = [str(path).replace("\\", "/").rpartition("/")[0] for path in paths]
    found = {folder: _class_of(folder, table) for folder in set(folders)}
    return np.array([found[folder] for folder in folders], dtype=str)


def _class_of(folder: str, table: Spellings) -> str:
    parts = folder.split("/")
    ends = ("/".join(parts[k:]) for k in range(len(parts)))
    return next((name for name in map(table.find, ends) if name), "")
