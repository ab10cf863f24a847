"""Files that commands read and write; what cannot be written is said before the work begins."""

from __future__ import annotations

import csv
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unseen.apps.cli.output import note
from unseen.apps.report.page import MAKER
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.errors import InputError
from unseen.estimators import ZeroShotClassifier, load
from unseen.storage import checkpoint as checkpoints
from unseen.storage import models, tensors


def command_line() -> str:
    """The command as it was given, for a reader to repeat."""
    return shlex.join(["unseen", *sys.argv[1:]])


def as_argument(data: str) -> str:
    """The name or path of data as a shell takes it; one that begins with a dash is no option."""
    return shlex.quote(os.path.join(os.curdir, data) if data.startswith("-") else data)


def check_out(out: Path, what: str, is_such: Callable[[Path], bool]) -> None:
    """A file may replace an empty one and one of its own kind, but nothing else that a user has."""
    folder = next(p for p in out.absolute().parents if os.path.exists(p))
    if not folder.is_dir():
        raise InputError(f"cannot write {out}: {folder} is not a folder")
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {out}: permission denied in {folder}")
    if os.path.exists(out) and not (out.is_file() and (not out.stat().st_size or is_such(out))):
        raise InputError(
            f"cannot write {out}: the file is there already and is not a {what} of unseen; choose "
            "another name or remove it first"
        )


def check_pages_out(*pages: Path) -> None:
    for path in pages:
        check_out(path, "page", _is_page)


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(1000)
    return MAKER.encode() in start or start.startswith(b"Made by `unseen ")


def check_model_out(out: Path | None, checkpoint: Path | None) -> None:
    if out is not None:
        check_out(out, "model", lambda path: models.KIND in tensors.kind_of(path))
    if checkpoint is not None:
        check_out(checkpoint, "checkpoint", lambda p: checkpoints.KIND in tensors.kind_of(p))
        if out is not None and checkpoint.absolute() == out.absolute():
            raise InputError("--checkpoint and --out must be two files")


def save_model(model: ZeroShotClassifier, out: Path) -> None:
    """Save a model; a folder that is made for it is named, as it may be a slip."""
    is_new = not out.absolute().parent.exists()
    model.save(out)
    if is_new:
        note(f"the folder {out.parent} was not there and has been made")


def check_table_out(out: Path | None) -> None:
    if out is None:
        return
    if out.suffix != ".csv":
        raise InputError(f"{out}: results are written as .csv")
    check_out(out, "result", _is_result)


def _is_result(path: Path) -> bool:
    """Whether a file was written by 'unseen predict' or 'unseen retrieve'."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header = next(csv.reader([file.readline(100_000)]), [])
    predicted = re.fullmatch(r"class( ?\d*),score\1", ",".join(header[-2:]))
    ranked = header[:2] == ["place", "row"] and header[-1] == "score"
    return ranked or (header[:1] == ["row"] and predicted is not None)


@contextmanager
def telling_how_to_resume(kept: Path | None) -> Iterator[None]:
    """Who presses Ctrl-C should know that what is kept in this file is not lost."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if kept is None or not os.path.exists(kept):
            raise
        raise KeyboardInterrupt(f"Stopped; the same command resumes from {kept}") from stop


def open_data(data: str, split: str = "", **classes: Any) -> ZeroShotDataset:
    """A data set; what was odd about it is said on standard error.

    `classes` says how to read the class table, as for `read_dataset`.
    """
    dataset = open_dataset(data, split or None, **classes)
    for text in dataset.notes[1:]:
        note(text)
    return dataset


def table_options(text: str, missing: str) -> str:
    """The options of a command that say how the class table was read, where not as usual."""
    given = {"text": (text, "tfidf"), "missing": (missing, "error")}
    return "".join(f" --{k} {shlex.quote(v)}" for k, (v, usual) in given.items() if v != usual)


def load_model(model_file: Path) -> tuple[ZeroShotClassifier, tuple[str, ...] | None]:
    """A model and the names of its feature columns, taken from it as it is given arrays here."""
    model = load(model_file)
    names = vars(model).pop("feature_names_in_", None)
    return model, None if names is None else tuple(map(str, names))


def with_columns(
    dataset: ZeroShotDataset, model: ZeroShotClassifier, names: tuple[str, ...] | None
) -> ZeroShotDataset:
    """The data with the columns that a model was trained on, by name where both have names."""
    if names is None and dataset.feature_names is not None:
        note_order()
    dataset = dataset.with_columns(names)
    if dataset.X.shape[1] != model.n_features_in_:
        raise InputError(
            f"data set {dataset.name!r} has {dataset.X.shape[1]} feature columns, the model was "
            f"trained on {model.n_features_in_}"
        )
    return dataset


def note_order() -> None:
    """Say that columns are not matched by name, as a model from arrays has none."""
    note("the model has no column names; the columns of the file are taken in their order")
