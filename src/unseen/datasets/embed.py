"""From a folder of pictures and words about their classes to a data set."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unseen import __version__
from unseen.classes import ClassTable
from unseen.datasets import class_words
from unseen.datasets.class_words import ClassWords
from unseen.datasets.encoder_file import ENCODER
from unseen.datasets.picture_folder import (
    check_some,
    labels_by_file,
    labels_by_folder,
    list_pictures,
)
from unseen.encoders.cache import cache_folder
from unseen.encoders.images import DEFAULT, ImageEncoder
from unseen.encoders.pictures import PictureError
from unseen.errors import InputError, counted
from unseen.files.reading import checked_path
from unseen.files.writing import writing
from unseen.support.work import tell

_FILES = ("features.npy", "labels.txt", "images.txt", "classes.csv", ENCODER, "skipped.csv")


@dataclass(frozen=True)
class Embedded:
    """What `embed_folder` has done: the folder, how many pictures, the files left out and why, and
    the classes without a word about them."""

    out: Path
    n_pictures: int
    n_classes: int
    width: int
    skipped: dict[str, str]
    seconds: float
    silent: list[str]


def embed_folder(
    photos: str | os.PathLike[str],
    out: str | os.PathLike[str],
    classes: str | os.PathLike[str] | Mapping[str, str] | ClassTable | None = None,
    labels: str | os.PathLike[str] | None = None,
    images: str | os.PathLike[str] | ImageEncoder = DEFAULT,
    text: str = class_words.TFIDF,
    templates: Sequence[str] = (),
    offline: bool = False,
) -> Embedded:
    """Make a data set of a folder of pictures, with one vector per picture.

    Parameters
    ----------
    photos : the folder. `photos/<class>/...` gives the labels, unless `labels` does.
    out : the folder to write: features.npy, labels.txt, images.txt, classes.csv, encoder.json and
        skipped.csv. Lists that were put there, such as unseen.txt, stay.
    classes : a table of the classes, the names in its first column and beside them text, numbers,
        or both; or `{name: description}`, or a `ClassTable`. Without it a class is described by its
        name.
    labels : a table with the columns image and label, for pictures that are not in folders.
    images : the encoder of the pictures, see `ImageEncoder`.
    text : "tfidf", for which the text stays as it is and is read when a model is trained; or a
        sentence encoder, or a joint model such as CLIP, by which it becomes numbers here.
    templates : sentences such as "a photo of a {name}, {description}", for `text` other than
        "tfidf". The vectors of several are averaged.
    offline : fetch nothing.

    A file that cannot be used is left out, and skipped.csv says why; if all are, it is an error.
    """
    began, out = time.perf_counter(), Path(out)
    _check_out(out, Path(photos))
    listing = list_pictures(photos)
    by_file = None if labels is None else checked_path(labels)
    found = labels_by_folder(listing) if by_file is None else labels_by_file(listing, by_file)
    check_some(found, listing, photos)
    words = _words(classes, found.values())
    about, table = _class_table(words, text, templates, offline)
    encoder = images
    if not isinstance(encoder, ImageEncoder):
        encoder = ImageEncoder(encoder, cache=cache_folder(), offline=offline)
    identity = encoder.identity
    facts = {"unseen": __version__, "images": identity.as_dict(), "text": about}
    with ExitStack() as stack:
        made = {name: stack.enter_context(writing(out / name)) for name in _FILES}
        with made["features.npy"].open("wb") as file:
            kept = _write_features(file, encoder, Path(photos), list(found), listing.skipped)
        if not kept:
            raise InputError(_none(photos, listing.skipped))
        places = [_place(Path(photos) / name, out) for name in kept]
        _write(made["labels.txt"], [found[name] for name in kept])
        _write(made["images.txt"], places)
        made["classes.csv"].write_text(table, encoding="utf-8")
        made[ENCODER].write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        _write_skipped(made["skipped.csv"], listing.skipped)
        # The files take their places one after the other, the features last. Without them a command
        # that is killed in between leaves nothing that looks like a data set.
        (out / "features.npy").unlink(missing_ok=True)
    silent = class_words.silent(words) if text == class_words.TFIDF else []
    n_classes = len({found[name] for name in kept})
    seconds = time.perf_counter() - began
    return Embedded(out, len(kept), n_classes, identity.width, listing.skipped, seconds, silent)


def _check_out(out: Path, photos: Path) -> None:
    if os.path.exists(out) and not os.path.isdir(out):
        raise InputError(f"cannot write {out}: it is not a folder")
    inside = os.path.realpath(photos)
    if os.path.isdir(photos) and os.path.commonpath([inside, os.path.realpath(out)]) == inside:
        raise InputError(f"{out} lies in the folder of the pictures: choose one beside it")
    stems = [name.partition(".")[0] for name in _FILES]
    there = [p for stem in stems for p in sorted(out.glob(f"{stem}.*")) if out.is_dir()]
    if there and not (out / ENCODER).exists():
        raise InputError(
            f"cannot write to {out}: {there[0].name} is there already, and not by 'unseen embed'; "
            "choose another folder"
        )
    other = next((p for p in there if p.name not in _FILES), None)
    if other is not None:
        raise InputError(f"{out} has {other.name}, beside which a data set would have two: move it")


def _words(classes: Any, labels: Iterable[str]) -> ClassWords:
    names = sorted(set(labels))
    if classes is None:
        return ClassWords(names, {}, {})
    if isinstance(classes, Mapping | ClassTable):
        words, where = class_words.given_words(classes), "classes"
    else:
        words, where = class_words.read_words(checked_path(classes)), classes
    class_words.check_described(words, names, where)
    return words


def _class_table(
    words: ClassWords, text: str, templates: Sequence[str], offline: bool
) -> tuple[dict[str, Any] | None, str]:
    """What encodes the text, if anything does, and the class table."""
    class_words.check_templates(templates, words)
    if words.numbers and not words.text and not templates:
        return None, class_words.table_file(words, None)
    if text == class_words.TFIDF:
        if templates:
            raise InputError(
                "a template is for a sentence encoder, and TF-IDF reads single words: name an "
                "encoder (--text), or leave the template out"
            )
        return {"name": text}, class_words.table_file(words, None)
    tell(f"encoding the words of {counted(len(words.names), 'class')}")
    encoder = class_words.text_encoder(text, offline)
    table = class_words.table_file(words, encoder, templates)
    known = getattr(encoder, "identity", None) or {"name": text}
    return {**known, "templates": list(templates)}, table


def _write_features(
    file: BinaryIO, encoder: ImageEncoder, photos: Path, names: list[str], skipped: dict[str, str]
) -> list[str]:
    """Write the vectors one after the other; returns the names of the pictures that have one."""
    width, kept, progress = encoder.identity.width, [], _Progress(len(names))
    header = _header(0, width)
    file.write(header)
    for name, outcome in zip(names, encoder.stream(photos / n for n in names), strict=True):
        if isinstance(outcome, PictureError):
            skipped[name] = str(outcome)
        else:
            file.write(outcome.astype("<f4", copy=False).tobytes())
            kept.append(name)
        progress.step()
    file.seek(0)
    # numpy leaves room for a longer number of rows.
    changed = _header(len(kept), width)
    assert len(changed) == len(header)
    file.write(changed)
    return kept


def _header(rows: int, width: int) -> bytes:
    out = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


class _Progress:
    """Says from time to time how far the work is, how fast, and how long it will take."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.began = self.told = time.monotonic()

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.told >= 0.5:
            self.told = now
            rate = self.done / (now - self.began)
            left = round((self.total - self.done) / rate)
            clock = f"{left // 60}:{left % 60:02d}"
            tell(f"{self.done:,} of {self.total:,} pictures, {rate:,.0f} a second, {clock} left")


def _place(path: Path, out: Path) -> str:
    """The path of a picture as images.txt has it: from the folder of the data set."""
    return Path(os.path.relpath(os.path.abspath(path), os.path.realpath(out))).as_posix()


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_skipped(path: Path, skipped: dict[str, str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "reason"])
        writer.writerows(sorted(skipped.items()))


def _none(photos: object, skipped: dict[str, str]) -> str:
    name, reason = min(skipped.items())
    files = counted(len(skipped), "file")
    return f"none of the {files} in {photos} could be used; the first: {name}: {reason}"
