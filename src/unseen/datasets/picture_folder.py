"""A folder of pictures: which files there are, in which order, and of which class."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from unseen.datasets.row_files import Rows, read_labels
from unseen.errors import InputError
from unseen.files.tables import read_table

_IMAGE_COLUMNS = ("image", "image_path", "file", "filename", "file_name", "path")


class Listing(NamedTuple):
    """Files by their paths inside the folder, sorted, and those left out, with the reason."""

    names: list[str]
    skipped: dict[str, str]


def list_pictures(folder: str | os.PathLike[str]) -> Listing:
    """Every file that may be a picture. Hidden files are no part of it, and what a link leads to
    is only if it lies inside the folder."""
    root = Path(folder)
    if not os.path.isdir(root):
        what = "is a file, not a folder of pictures" if os.path.exists(root) else "does not exist"
        raise InputError(f"{folder} {what}")
    inside = os.path.realpath(root)
    names, skipped = [], {}
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in (*links, *sorted(files)):
            path = os.path.join(place, name)
            inner = Path(path).relative_to(root).as_posix()
            if name.startswith("."):
                continue
            reason = "a link to a folder is not followed" if name in links else _odd(inner)
            if not reason and os.path.islink(path):
                target = os.path.realpath(path)
                if os.path.commonpath([inside, target]) != inside:
                    reason = "a link that leads out of the folder is not followed"
            if reason:
                skipped[_printable(inner)] = reason
            else:
                names.append(inner)
    return Listing(sorted(names), skipped)


def _odd(name: str) -> str:
    """Why a list of names, one per line, cannot hold this one."""
    if name != _printable(name):
        return "its name is not UTF-8"
    if name != name.strip() or len(name.splitlines()) > 1:
        return "its name has a line break, or a space at an end: rename it"
    return ""


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def labels_by_folder(listing: Listing) -> dict[str, str]:
    """The class of each picture: the name of the folder that it lies in, the first one."""
    labels = {}
    for name in listing.names:
        first, *inner = name.split("/")
        if not inner:
            listing.skipped[name] = "it lies in no folder that names its class"
        elif first != first.strip():
            listing.skipped[name] = "the name of its class has a space at an end: rename the folder"
        else:
            labels[name] = first
    return labels


def labels_by_file(listing: Listing, path: Path) -> dict[str, str]:
    """The class of each picture from a table with the columns image and label."""
    table = read_table(path, text=None).text
    column = next((c for c in _IMAGE_COLUMNS if c in table), None)
    if column is None:
        raise InputError(
            f"{path} has no column 'image': it needs the columns image (the path inside the folder "
            "of pictures) and label"
        )
    images = [_inner(name) for name in table[column].tolist()]
    classes = read_labels(path, Rows(table[column][:, None])).names.tolist()
    given: dict[str, str] = {}
    for number, (image, label) in enumerate(zip(images, classes, strict=True), start=2):
        if not label:
            raise InputError(f"{path}, line {number}: {image!r} has no label")
        if given.setdefault(image, label) != label:
            raise InputError(f"{path}, line {number}: {image!r} has another label before")
    there = set(listing.names)
    for name in given:
        if name not in there and name not in listing.skipped:
            listing.skipped[name] = f"{path.name} names it, but the folder has no such file"
    for name in listing.names:
        if name not in given:
            listing.skipped[name] = f"{path.name} does not name it"
    return {name: given[name] for name in listing.names if name in given}


def _inner(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).as_posix()


def check_some(labels: Mapping[str, str], listing: Listing, folder: object) -> None:
    """An error if there is nothing to encode."""
    if labels:
        return
    first = next(iter(listing.skipped.items()), None)
    why = f"; the first of {len(listing.skipped)} left out: {first[0]}: {first[1]}" if first else ""
    raise InputError(f"{folder} has no pictures in folders named by their classes{why}")
