"""Which layout a folder is in: the data sets that circulate each have their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from unseen.datasets.awa import read_awa
from unseen.datasets.bundle import find_bundle, is_bundle, read_bundle
from unseen.datasets.cub import read_cub
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import AWA2_FEATURES, SUFFIXES, find_features
from unseen.datasets.published import Published
from unseen.datasets.scenes_and_objects import read_apy, read_sun
from unseen.datasets.xlsa17 import read_xlsa17
from unseen.errors import naming
from unseen.files import reading

_OWN_CLASSES = ("npz", "mat", "csv", "tsv", "parquet")


class Layout(NamedTuple):
    """Its name, its reader, the files that mark its folders (one is enough), and how to find the
    feature file."""

    what: str
    read: Callable[[Published], ZeroShotDataset]
    markers: tuple[str, ...]
    find: Callable[[Path], Path] = find_features


_XLSA17 = Layout("the layout of Xian et al.", read_xlsa17, ("att_splits.mat",))
_BIRDS = ("image_class_labels.txt", "CUB_200_2011/image_class_labels.txt")
# The data sets' own files come first: the split file of Xian et al. often lies beside them.
LAYOUTS = (
    Layout("Caltech-UCSD Birds 200-2011", read_cub, _BIRDS),
    Layout("Animals with Attributes", read_awa, ("predicates.txt",)),
    Layout("SUN Attribute", read_sun, ("attributeLabels_continuous.mat",)),
    Layout("aPascal / aYahoo", read_apy, ("apascal_train.txt",)),
    _XLSA17,
)
# Recognised by its content, whatever its name.
BUNDLE = Layout("a data set in one file", read_bundle, (), find_bundle)


def find_layout(path: Path) -> Layout | None:
    """The layout of a folder, or of the folder that a feature file lies in; None if unknown."""
    if is_bundle(path):
        return BUNDLE
    folder = path if path.is_dir() else _folder_of(path)
    if any((folder / f"classes.{suffix}").exists() for suffix in _OWN_CLASSES):
        return None  # a user's own folder
    if path.suffix == ".npz" and "class_names" in reading.known_arrays(path):
        return None  # a user's data set in one file
    markers = ((layout, marker) for layout in LAYOUTS for marker in layout.markers)
    found = next((layout for layout, marker in markers if (folder / marker).exists()), None)
    if found is None and path.is_dir() and any(map(is_bundle, path.glob("*.npz"))):
        return BUNDLE
    return found


def read_layout(path: Path, layout: Layout) -> ZeroShotDataset:
    """Read a folder, or one of its feature files, in the layout that `find_layout` found."""
    folder = path if path.is_dir() else _folder_of(path)
    with naming(folder):
        features = layout.find(folder) if path.is_dir() else path
        # Features in a .mat file come from the same archive as the split file and share its order.
        if features.suffix == ".mat" and (folder / "att_splits.mat").exists():
            layout = _XLSA17
        return layout.read(Published(folder, features, layout.what))


def _folder_of(features: Path) -> Path:
    """The data set's folder; features of AWA2 lie two folders deeper."""
    is_deep = features.as_posix().endswith(AWA2_FEATURES)
    return features.parents[2] if is_deep else features.parent


def is_feature_file(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.as_posix().endswith(AWA2_FEATURES)
