"""SUN Attribute: the data set's own .mat files and one file of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.att_splits import original_split, proposed_split
from unseen.datasets.class_names import Spellings
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.published import Published, class_means, existing_pictures
from unseen.errors import InputError
from unseen.files import reading

# The ten scenes that early work kept as unseen (Jayaraman and Grauman, 2014), the paper's 707 / 10.
ORIGINAL_UNSEEN = (
    "inn_indoor",
    "flea_market_indoor",
    "lab_classroom",
    "outhouse_outdoor",
    "chemical_plant",
    "mineshaft",
    "lake_natural",
    "shoe_shop",
    "art_school",
    "archive",
)
_N_CLASSES = 717


def read_sun(data: Published) -> ZeroShotDataset:
    """Read the scenes; a class is described by the mean of its images' attributes.

    The folder holds images.mat, attributes.mat and attributeLabels_continuous.mat; features are in
    the order of images.mat. The classes of testclasses.txt, if it is there, are unseen in place of
    the ten of the original protocol.
    """
    images = reading.mat_strings(_variable(data.use("images.mat"), "images"))
    attributes = reading.mat_strings(_variable(data.use("attributes.mat"), "attributes"))
    per_image = data.use("attributeLabels_continuous.mat")
    y = np.array([_scene(image) for image in images.tolist()])
    table = class_means(y, _variable(per_image, "labels_cv"), attributes, per_image)
    names = Spellings(table.names)
    proposed = proposed_split(data, names, y)
    original = original_split(data, names, proposed) or sun_original(table.names, data.notes)
    pictures = existing_pictures(data.folder, images)
    return data.dataset(f"SUN {data.features.stem}", y, table, original | proposed, pictures)


def _variable(path: Path, name: str) -> Any:
    return reading.pick(reading.read_mat(path, [name]), (name,), path, name)


def _scene(image: str) -> str:
    """The class of `a/airport/entrance/sun_x.jpg` is airport_entrance."""
    parts = [part for part in image.replace("\\", "/").split("/") if part]
    if len(parts) < 3:
        raise InputError(f"images.mat: {image!r} is no path such as a/abbey/sun_x.jpg")
    return "_".join(parts[1:-1])


def sun_original(names: np.ndarray, notes: list[str]) -> dict[str, Split]:
    """The original protocol, if these are the names of all 717 scenes."""
    table = Spellings(names)
    found = [table.find(name) for name in ORIGINAL_UNSEEN]
    if names.size != _N_CLASSES or None in found:
        return {}
    notes.append(
        "SUN has two protocols: 'original' keeps 10 classes as unseen, 'proposed' 72; results of "
        "one do not compare with those of the other"
    )
    return {"original": Split(np.array(found, dtype=str))}
