"""The benchmark data sets by name: what the paper says about them, and where to get them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.feature_file import SUFFIXES
from unseen.datasets.layouts import Layout, find_layout, read_layout
from unseen.errors import InputError, MissingExtraError
from unseen.files import reading

_XLSA17 = (
    "https://www.mpi-inf.mpg.de/departments/computer-vision-and-machine-learning/research/"
    "zero-shot-learning/zero-shot-learning-the-good-the-bad-and-the-ugly"
)
_SHARED = f"features (res101.mat) and splits (att_splits.mat) by Xian et al.: {_XLSA17}"


class PaperRow(NamedTuple):
    """A line of the paper's table of data sets."""

    instances: int
    attributes: int
    values: str
    seen: int
    unseen: int


class Benchmark(NamedTuple):
    """A data set known by name: what it is, its home page if it has one, its line in the paper.

    `folders` are names its folder may have; `variants` are feature files without their suffix,
    or empty for whatever features the folder has.
    """

    name: str
    what: str
    home: str
    folders: tuple[str, ...]
    paper: PaperRow | None = None
    variants: tuple[str, ...] = ("",)
    get: str = _SHARED


CATALOGUE = (
    Benchmark(
        "CUB",
        "Caltech-UCSD Birds 200-2011",
        "https://www.vision.caltech.edu/datasets/cub_200_2011/",
        ("CUB", "CUB_200_2011"),
        PaperRow(11_788, 312, "binary", 150, 50),
        variants=("vgg_fc7", "efflite0", "res101"),
    ),
    Benchmark(
        "AWA1",
        "Animals with Attributes",
        "https://cvml.ista.ac.at/AwA/",
        ("AWA1", "AWA", "AwA", "Animals_with_Attributes"),
        PaperRow(30_475, 85, "continuous", 40, 10),
    ),
    Benchmark(
        "AWA2",
        "Animals with Attributes 2",
        "https://cvml.ista.ac.at/AwA2/",
        ("AWA2", "AwA2", "Animals_with_Attributes2"),
    ),
    Benchmark(
        "AWA35",
        "35 animals, 60 photographs each, EfficientNet-Lite0 features",
        "",
        ("AWA35",),
        get="classes and attributes of Animals with Attributes on other photographs, not for "
        "download; docs/datasets.md says what its one file holds",
    ),
    Benchmark(
        "SUN",
        "SUN Attribute",
        "https://cs.brown.edu/~gmpatter/sunattributes.html",
        ("SUN", "SUNAttributeDB"),
        PaperRow(14_340, 102, "binary", 707, 10),
    ),
    Benchmark(
        "APY",
        "aPascal / aYahoo",
        "https://vision.cs.uiuc.edu/attributes/",
        ("APY", "aPY", "attribute_data"),
        PaperRow(15_339, 64, "continuous", 20, 12),
    ),
    Benchmark(
        "FLO", "Oxford Flowers 102", "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/", ("FLO",)
    ),
)


class Entry(NamedTuple):
    """One data set with one kind of features, and its path if it is on this machine."""

    name: str
    benchmark: Benchmark
    path: Path | None


def data_folder() -> Path:
    """The folder of benchmark data: UNSEEN_DATA, else ~/.cache/unseen, which need not exist."""
    given = os.environ.get("UNSEEN_DATA")
    if not given:
        return Path.home() / ".cache" / "unseen"
    folder = Path(given).resolve()
    if not folder.is_dir():
        raise InputError(f"UNSEEN_DATA names {folder}, which is not a folder")
    return folder


def entries() -> Iterator[Entry]:
    """All data sets of the catalogue, one entry for each kind of features."""
    for benchmark in CATALOGUE:
        for variant in benchmark.variants:
            name = f"{benchmark.name} {variant}".strip()
            yield Entry(name, benchmark, _find(benchmark, variant))


def find_benchmark(name: str) -> tuple[Benchmark, str] | None:
    """The data set and the features that a name such as "CUB vgg_fc7" or "cub/efflite0" means."""
    first, _, variant = re.sub(r"[\s/]+", " ", name.strip()).partition(" ")
    known = (b for b in CATALOGUE if b.name.casefold() == first.casefold())
    return next(((benchmark, variant) for benchmark in known), None)


def open_benchmark(benchmark: Benchmark, variant: str) -> ZeroShotDataset:
    """A data set of the catalogue, with features of this name."""
    path = _find(benchmark, variant)
    if path is None:
        file = f" with {variant}.npz, .npy or .mat in it" if variant else ""
        raise InputError(
            f"data set {f'{benchmark.name} {variant}'.strip()!r} ({benchmark.what}) is not below "
            f"{data_folder()}; put it into a folder {benchmark.folders[0]}{file} there, or set "
            "UNSEEN_DATA to the folder that holds it; 'unseen datasets' says where to get it"
        )
    return read_layout(path, _layout(path))


def feature_file(path: Path) -> Path:
    """The feature file of a data set that was found; its arrays are not read."""
    file = _layout(path).find(path) if path.is_dir() else path
    _check_archive(file)
    return file


def has_features(entry: Entry) -> bool:
    """Are the features of the data set here?"""
    try:
        return entry.path is not None and feature_file(entry.path).exists()
    except (InputError, MissingExtraError):
        return False


def _layout(path: Path) -> Layout:
    layout = find_layout(path)
    if layout is None:
        for file in path.glob("*.npz") if path.is_dir() else (path,):
            _check_archive(file)
        raise InputError(f"{path} is in no known layout; docs/datasets.md shows them")
    return layout


def _check_archive(file: Path) -> None:
    """An error if an archive is broken; its arrays are not read."""
    if file.suffix in (".npz", ".mat"):
        reading.array_names(file)


def _find(benchmark: Benchmark, variant: str) -> Path | None:
    """The folder, or the feature file in it whose name is the variant."""
    root = data_folder()
    places = (root, root / "xlsa17" / "data", root / "data")
    for folder in (place / name for place in places for name in benchmark.folders):
        if folder.is_dir() and not variant:
            return folder
        for file in sorted(folder.glob("*")):
            if file.stem.casefold() == variant.casefold() and file.suffix in SUFFIXES:
                return file
    return None
