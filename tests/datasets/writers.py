"""Small data sets written in the layouts of the published ones, without the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io

# Names that the lists of a data set may write in other ways.
ANIMALS = ["001.Grizzly_bear", "002.Ox", "003.Killer_whale", "004.Rat", "005.Zebra"]
UNSEEN = ["002.Ox", "005.Zebra"]
ROWS_PER_CLASS = 6
N_ROWS = len(ANIMALS) * ROWS_PER_CLASS
VECTORS = np.round(np.random.default_rng(1).uniform(1, 90, (5, 4)), 2)
ATTRIBUTES = ["furry", "big", "fast", "striped"]
X = np.random.default_rng(2).standard_normal((N_ROWS, 7))
NAMES = np.repeat(ANIMALS, ROWS_PER_CLASS)
LABELS = np.repeat(np.arange(1, 6), ROWS_PER_CLASS)
IS_UNSEEN = np.isin(NAMES, UNSEEN)
IS_SEEN_TEST = ~IS_UNSEEN & (np.arange(N_ROWS) % ROWS_PER_CLASS == 2)


def paths(names: Any = NAMES, root: str = "/home/someone/images/") -> list[str]:
    return [f"{root}{name}/{k}.jpg" for k, name in enumerate(names)]


def cells(names: Any) -> np.ndarray:
    array = np.empty((len(names), 1), dtype=object)
    array[:, 0] = list(names)
    return array


def write_mat(path: Path, content: dict[str, Any], version: str = "5") -> None:
    """A MATLAB file; lists of strings become cell arrays."""
    if version == "5":
        made = {k: cells(v) if isinstance(v, list) else v for k, v in content.items()}
        scipy.io.savemat(path, made, do_compression=True)
        return
    is_matlab = version == "7.3"
    with h5py.File(path, "w", userblock_size=512 if is_matlab else 0) as file:
        for name, value in content.items():
            if isinstance(value, list):
                refs = file.create_dataset(name, (1, len(value)), dtype=h5py.ref_dtype)
                for i, text in enumerate(value):
                    letters = np.array([[ord(letter)] for letter in text], dtype=np.uint16)
                    refs[0, i] = file.create_dataset(f"#refs#/{name}{i}", data=letters).ref
            else:
                file[name] = np.transpose(value)
    if not is_matlab:
        return
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def loc(rows: Any) -> np.ndarray:
    """Row numbers as MATLAB has them: a column of floating point numbers counted from 1."""
    return (np.asarray(rows, dtype=np.float64) + 1)[:, None]


def split_content(order: Any = range(5), **changes: Any) -> dict[str, Any]:
    """An att_splits.mat whose columns stand in this order of the animals."""
    raw = VECTORS[list(order)].T
    content = {
        "allclasses_names": [ANIMALS[k] for k in order],
        "original_att": raw,
        "att": raw / np.linalg.norm(raw, axis=0),
        "trainval_loc": loc(np.flatnonzero(~IS_UNSEEN & ~IS_SEEN_TEST)),
        "test_seen_loc": loc(np.flatnonzero(IS_SEEN_TEST)),
        "test_unseen_loc": loc(np.flatnonzero(IS_UNSEEN)),
    }
    return {k: v for k, v in (content | changes).items() if v is not None}


def feature_content(**changes: Any) -> dict[str, Any]:
    content = {"features": X.T, "labels": LABELS[:, None].astype(float), "image_files": paths()}
    return {k: v for k, v in (content | changes).items() if v is not None}


def write_xlsa17(
    folder: Path, version: str = "5", features: Any = None, splits: Any = None
) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    features = feature_content() if features is None else features
    write_mat(folder / "res101.mat", features, version)
    write_mat(folder / "att_splits.mat", split_content() if splits is None else splits, version)
    return folder


def write_text(path: Path, lines: Any) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(map(str, lines)) + "\n", encoding="utf-8")


def write_numbered(path: Path, names: Any) -> None:
    write_text(path, (f"{k}\t{name}" for k, name in enumerate(names, start=1)))


def write_matrix(path: Path, matrix: Any) -> None:
    write_text(path, (" ".join(f"{v:.2f}" for v in row) for row in matrix))


def plain(name: str) -> str:
    """As Animals with Attributes writes it: grizzly+bear."""
    return name[4:].lower().replace("_", "+")


def write_awa(folder: Path, order: Any = range(5), matrix: Any = VECTORS) -> Path:
    """Animals with Attributes whose classes.txt has the animals in this order."""
    order = list(order)
    folder.mkdir(exist_ok=True, parents=True)
    write_numbered(folder / "classes.txt", [plain(ANIMALS[k]) for k in order])
    write_numbered(folder / "predicates.txt", ATTRIBUTES)
    write_matrix(folder / "predicate-matrix-continuous.txt", np.asarray(matrix)[order])
    write_text(folder / "testclasses.txt", [plain(name) for name in UNSEEN])
    numbers = np.argsort(order) + 1
    np.savez(folder / "features.npz", features=X, labels=numbers[LABELS - 1])
    return folder


def write_cub(folder: Path, order: Any = range(5)) -> Path:
    """Birds (under the names of the animals) whose classes.txt has them in this order."""
    order = list(order)
    text = folder / "CUB_200_2011"
    numbers = np.argsort(order) + 1
    write_numbered(text / "classes.txt", [ANIMALS[k] for k in order])
    write_numbered(text / "images.txt", paths(root=""))
    write_numbered(text / "image_class_labels.txt", numbers[LABELS - 1])
    write_matrix(text / "attributes/class_attribute_labels_continuous.txt", VECTORS[order])
    write_numbered(text / "attributes/attributes.txt", ATTRIBUTES)
    np.savez(folder / "features.npz", features=X, labels=numbers[LABELS - 1])
    return folder


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a picture")


def bundle_content(**changes: Any) -> dict[str, Any]:
    """A data set in one file: oxen were found as yaks, rats come from elsewhere."""
    content = {
        "features": X,
        "labels": (LABELS - 1).astype(np.int16),
        "classes": np.array(ANIMALS),
        "attributes_continuous": VECTORS,
        "attributes_binary": (VECTORS > 45).astype(np.float32),
        "predicates": np.array(ATTRIBUTES),
        "unseen_PS": np.array([1, 2]),
        "unseen_SS": np.array([4, 1]),
        "files": np.array(paths(root="")),
        "name_match": np.array(["exact", "near", "exact", "exact", "exact"]),
        "source_classes": np.array(["bear", "yak", "whale", "rat", "zebra"]),
        "source": np.array(["zoo", "zoo", "zoo", "cellar", "zoo"]),
    }
    return {k: v for k, v in (content | changes).items() if v is not None}


def write_bundle(folder: Path, name: str = "pooled.npz", **changes: Any) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    np.savez(folder / name, **bundle_content(**changes))
    return folder


def assert_is_animals(data: Any, spelled: Any = str) -> None:
    """Every row has its class, every class its description, whatever the files' order."""
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == [spelled(name) for name in NAMES]
    for name, vector in zip(ANIMALS, VECTORS, strict=True):
        np.testing.assert_allclose(data.classes.vector(spelled(name)), vector)
    assert data.unseen.tolist() == sorted(spelled(name) for name in UNSEEN)


def noted(data: Any, part: str) -> bool:
    return any(part in note for note in data.notes)
