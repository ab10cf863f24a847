"""Nine animals in every kind of file that a data set may be made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.io

from unseen import ZeroShotDataset

ANIMALS = {"zebra": [1, 1, 0], "tiger": [1, 0, 1], "horse": [0, 1, 0], "lion": [0, 0, 1]}
ATTRIBUTES = ["stripes", "hooves", "claws"]
VECTORS = np.array(list(ANIMALS.values()), dtype=float)
LABELS = ["tiger", "zebra", "horse", "zebra", "tiger", "horse", "zebra", "tiger", "horse"]
X = np.random.default_rng(0).standard_normal((9, 5))
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(5)])
TABLE = pd.DataFrame(VECTORS, index=list(ANIMALS), columns=ATTRIBUTES)


def cells(names: list[str]) -> np.ndarray:
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = names
    return array


FEATURES = {
    "npy": lambda f: np.save(f / "features.npy", X),
    "npz": lambda f: np.savez(f / "features.npz", features=X),
    "npz, X": lambda f: np.savez(f / "features.npz", X=X),
    "csv": lambda f: FRAME.to_csv(f / "features.csv", index=False),
    "tsv": lambda f: FRAME.to_csv(f / "features.tsv", index=False, sep="\t"),
    "parquet": lambda f: FRAME.to_parquet(f / "features.parquet"),
    "mat": lambda f: scipy.io.savemat(f / "features.mat", {"features": X}),
    "mat by columns": lambda f: scipy.io.savemat(f / "features.mat", {"features": X.T}),
}
LABEL_FILES = {
    "txt": lambda f: (f / "labels.txt").write_text("\n".join(LABELS) + "\n"),
    "npy": lambda f: np.save(f / "labels.npy", LABELS),
    "npy bytes": lambda f: np.save(f / "labels.npy", np.array(LABELS, dtype="S")),
    "csv": lambda f: pd.Series(LABELS, name="species").to_csv(f / "labels.csv", index=False),
    "tsv": lambda f: pd.DataFrame({"label": LABELS, "image": "x"}).to_csv(
        f / "labels.tsv", sep="\t"
    ),
    "parquet": lambda f: pd.DataFrame({"label": LABELS}).to_parquet(f / "labels.parquet"),
}
CLASS_FILES = {
    "csv": lambda f: TABLE.to_csv(f / "classes.csv"),
    "tsv": lambda f: TABLE.to_csv(f / "classes.tsv", sep="\t", index_label="name"),
    "parquet": lambda f: TABLE.to_parquet(f / "classes.parquet"),
    "npz": lambda f: np.savez(f / "classes.npz", names=list(ANIMALS), vectors=VECTORS),
    "mat": lambda f: scipy.io.savemat(
        f / "classes.mat", {"allclasses_names": cells(list(ANIMALS)), "att": VECTORS.T}
    ),
}


def check_is_animals(data: ZeroShotDataset, unseen: Sequence[str] = ("lion",)) -> None:
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == LABELS
    assert {n: data.classes.vector(n).tolist() for n in data.classes.names.tolist()} == ANIMALS
    assert data.unseen.tolist() == sorted(unseen)


def make_animals(folder: Path) -> Path:
    """The animals in the kinds of files that are easiest to break."""
    folder.mkdir()
    FEATURES["npy"](folder)
    LABEL_FILES["txt"](folder)
    CLASS_FILES["csv"](folder)
    return folder
