"""Caltech-UCSD Birds 200-2011: the data set's own text files and one file of features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.assemble import NO_ROWS, assemble
from unseen.datasets.att_splits import (
    SplitFile,
    fill_unknown,
    fitted_split,
    proposed_classes,
    read_att_splits,
)
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.feature_file import (
    find_features,
    read_feature_file,
    read_matrix,
    read_numbers,
)
from unseen.datasets.labels import label_names, names_in_paths, note_order
from unseen.datasets.pictures import existing_pictures
from unseen.datasets.sources import Sources
from unseen.datasets.spelling import Spellings, read_numbered
from unseen.errors import InputError

# Feature files in circulation whose images are in another order within each class.
_OTHER_ORDER = ("vgg_fc7",)


def read_cub(folder: Path, features: Path | None = None, outline: bool = False) -> ZeroShotDataset:
    """Read the birds; features are in the order of images.txt.

    Parameters
    ----------
    folder : holds classes.txt, images.txt and image_class_labels.txt, or the folder CUB_200_2011
        with them; att_splits.mat beside them brings the proposed split.
    features : the feature file, if the folder has more than one.
    outline : do not read the features, only what describes them.
    """
    sources, notes = Sources(folder), [f"read from {folder}, Caltech-UCSD Birds 200-2011"]
    text = "CUB_200_2011/" if sources.has("CUB_200_2011/classes.txt") else ""
    path = find_features(folder) if features is None else features
    rows = read_feature_file(path, sources, outline)
    has_splits = sources.has("att_splits.mat")
    file = read_att_splits(sources.use("att_splits.mat"), notes) if has_splits else None
    listed = read_numbered(sources.use(f"{text}classes.txt"))
    table = _table(sources, text, listed, file, notes)
    spellings = Spellings(table.names.tolist())
    names = spellings.match(listed, folder / f"{text}classes.txt", notes)
    note_order(table.names, names, "classes.txt", notes)
    y = _labels(sources, text, names, rows.labels, path)
    images = read_numbered(sources.use(f"{text}images.txt"))
    _check_images(images, y, spellings, folder / f"{text}images.txt")
    same_images = path.stem not in _OTHER_ORDER
    if not same_images:
        notes.append(
            f"{path.name} has its images in another order than images.txt within each class: it "
            "has no image paths, and must not be joined with other files image by image"
        )
    return assemble(
        f"CUB {path.stem}",
        rows.X,
        y,
        table,
        _splits(sources, text, file, spellings, y, same_images, notes),
        sources,
        notes,
        outline,
        _pictures(folder, text, images) if same_images else None,
    )


def _table(
    sources: Sources, text: str, listed: np.ndarray, file: SplitFile | None, notes: list[str]
) -> ClassTable:
    """Percentages of the split file if there is one, else those of the data set's own table."""
    if file is not None and file.names is not None:
        names, vectors = file.names, fill_unknown(file.vectors, file.path, notes)
    else:
        path = sources.use(f"{text}attributes/class_attribute_labels_continuous.txt")
        names, vectors = listed, read_matrix(path)
        if vectors.shape[0] != names.size:
            raise InputError(f"{path} has {vectors.shape[0]} lines for {names.size} classes")
    places = (f"{text}attributes/attributes.txt", f"{text}attributes.txt", "attributes.txt")
    if not any(map(sources.has, places)):
        return ClassTable(names, vectors)
    return ClassTable(names, vectors, read_numbered(sources.use(*places)))


def _labels(
    sources: Sources, text: str, names: np.ndarray, given: np.ndarray | None, features: Path
) -> np.ndarray:
    path = sources.use(f"{text}image_class_labels.txt")
    labels = read_numbers(path)
    if given is not None and not np.array_equal(given, labels):
        raise InputError(
            f"{features}: its labels are not those of {path.name}; rows must be in the order of "
            "images.txt"
        )
    return label_names(labels, names, path)


def _check_images(images: np.ndarray, y: np.ndarray, table: Spellings, where: Path) -> None:
    """The folder of an image is its class, which proves that the two lists belong together."""
    if images.size != y.size:
        raise InputError(f"{where} has {images.size} images for {y.size} labels")
    odd = np.flatnonzero(names_in_paths(images, table) != y)
    if odd.size:
        row = int(odd[0])
        raise InputError(
            f"{where}: image {row + 1}, {images[row]}, does not lie in the folder of its class "
            f"{y[row].item()!r}"
        )


def _splits(
    sources: Sources,
    text: str,
    file: SplitFile | None,
    table: Spellings,
    y: np.ndarray,
    same_images: bool,
    notes: list[str],
) -> dict[str, Split]:
    beside = proposed_classes(sources, table, notes)
    if file is not None:
        found = fitted_split(file, y, beside, notes, same_images)
        return {} if found is None else {"proposed": found}
    if beside is None:
        return {}
    return {"proposed": Split(beside, _published_test_rows(sources, text, y.size))}


def _published_test_rows(sources: Sources, text: str, n_rows: int) -> np.ndarray:
    """Test images of train_test_split.txt, which was made for ordinary recognition."""
    name = f"{text}train_test_split.txt"
    if not sources.has(name):
        return NO_ROWS
    path = sources.use(name)
    is_training = read_matrix(path)[:, -1]
    if is_training.size != n_rows:
        raise InputError(f"{path} has {is_training.size} lines for {n_rows} images")
    return np.flatnonzero(is_training == 0)


def _pictures(folder: Path, text: str, images: np.ndarray) -> np.ndarray | None:
    inside = existing_pictures(folder / text, images)
    return existing_pictures(folder, images) if inside is None else inside
