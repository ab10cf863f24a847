"""The real data sets of the benchmarks, from the folder that UNSEEN_DATA names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import unseen.datasets
from unseen import InputError, ZeroShotDataset

DATASETS = ("CUB vgg_fc7", "CUB efflite0", "AWA1")


def data_folder() -> Path:
    folder = unseen.datasets.data_folder()
    if folder is None:
        raise InputError("no benchmark data; set UNSEEN_DATA to the folder that holds them")
    return folder


def load(name: str) -> ZeroShotDataset:
    """CUB on its proposed split, 150 / 50 classes, or AWA1 on its original one, 40 / 10.

    As in the paper, all rows of seen classes are trained on.
    """
    split = "original" if name == "AWA1" else "proposed"
    return replace(unseen.datasets.open_dataset(name, split), test_rows=np.empty(0, dtype=np.intp))
