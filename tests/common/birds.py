"""A small data set on disk as docs/own-data.md describes it, written without the library."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from unseen import make_zero_shot

# Names that a table, a csv file or rich's markup could spoil.
SEEN = ["Indigo Bunting", "[red]Kite", "Owl, Barn", ":smile: Wren", "żółw", "True", "12", "Heron"]
UNSEEN = ["Lazuli Bunting", "Tern, [Arctic]", "Ærfugl"]


def make_folder(folder: Path) -> Path:
    """77 rows of 12 features, 7 rows a class in the order of the names, and 6 attributes."""
    data = make_zero_shot(8, 3, rows_per_class=7, n_features=12, n_attributes=6, n_factors=4)
    folder.mkdir()
    np.save(folder / "features.npy", data.X)
    write_lines(folder / "labels.txt", np.repeat(SEEN + UNSEEN, 7))
    write_lines(folder / "unseen.txt", UNSEEN)
    write_classes(folder / "classes.csv", SEEN + UNSEEN, data.classes.vectors)
    return folder


def write_lines(path: Path, lines: Any) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_classes(path: Path, names: list[str], vectors: Any) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["name", *(f"a{k}" for k in range(len(vectors[0])))])
        lines.writerows([n, *map(float, v)] for n, v in zip(names, vectors, strict=True))
    return path


def tree(folder: Path) -> list[Path]:
    """All files and folders in a folder."""
    return sorted(folder.rglob("*"))
