"""The real data sets of the benchmarks, from the folder that UNSEEN_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from unseen import ClassTable, InputError, ZeroShotDataset
from unseen.files import read_lines, read_npz

DATASETS = ("CUB vgg_fc7", "CUB efflite0", "AWA1")


def data_folder() -> Path:
    default = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
    folder = Path(os.environ.get("UNSEEN_DATA", default)).resolve()
    if not folder.is_dir():
        raise InputError(f"no data at {folder}; set UNSEEN_DATA to the folder that holds them")
    return folder


def load(name: str) -> ZeroShotDataset:
    """CUB on its proposed split, 150 / 50 classes, or AWA1 on its original one, 40 / 10."""
    return _awa1() if name == "AWA1" else _cub(name.split()[1])


def _cub(features: str) -> ZeroShotDataset:
    folder = data_folder() / "CUB"
    arrays = read_npz(folder / f"{features}.npz")
    names = _numbered(folder / "CUB_200_2011" / "classes.txt")
    return ZeroShotDataset(
        name=f"CUB {features}",
        X=arrays["features"].astype(np.float32),
        y=names[np.ravel(arrays["labels"]) - 1],
        classes=ClassTable.read(folder / "att_splits.mat", key="original_att"),
        unseen=np.array(read_lines(folder / "ps_testclasses.txt")),
    )


def _awa1() -> ZeroShotDataset:
    """The stored descriptors are centred; the mean goes back on, so that they are raw again."""
    folder = data_folder() / "AWA1"
    arrays = read_npz(folder / "descriptors_pca384.npz")
    names = _numbered(folder / "classes.txt")
    return ZeroShotDataset(
        name="AWA1",
        X=arrays["features"].astype(np.float32) + arrays["mean_projected"].astype(np.float32),
        y=names[np.ravel(arrays["labels"]) - 1],
        classes=ClassTable(
            names,
            np.loadtxt(folder / "predicate-matrix-continuous.txt"),
            _numbered(folder / "predicates.txt"),
        ),
        unseen=np.array(read_lines(folder / "testclasses.txt")),
    )


def _numbered(path: Path) -> np.ndarray:
    """Names from lines "number name", in the order of the numbers, which start at 1."""
    return np.array([line.split(maxsplit=1)[1] for line in read_lines(path)])
