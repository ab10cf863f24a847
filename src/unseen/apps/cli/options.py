"""What several commands share: their options, and how a model file is opened."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from unseen.apps.cli.completion import candidate_words, data_names, method_names
from unseen.apps.cli.config import settings_of_both
from unseen.apps.cli.output import note
from unseen.apps.report.page import is_page
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.errors import InputError
from unseen.estimators import ZeroShotClassifier, load

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set: a folder, a .npz file, or a name that 'unseen datasets' lists.",
        autocompletion=data_names,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by 'unseen fit'.")]
Features = Annotated[
    str,
    typer.Argument(
        metavar="FEATURES",
        help="A feature file, or a data set whose rows to use.",
        autocompletion=data_names,
    ),
]
DEFAULT_METHOD = "kernel-jlse"
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="The method; 'unseen methods' lists them.",
        autocompletion=method_names,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        callback=settings_of_both,
        help="A parameter of the method; repeatable.",
    ),
]
Split = Annotated[
    str,
    typer.Option(
        help="Which division into seen and unseen classes, where the data set comes with several."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program, not tables.")]
Candidates = Annotated[
    str,
    typer.Option(
        help="Classes to choose among: unseen, seen, all, or names separated by commas. "
        "By default the unseen ones, if the model knows any.",
        autocompletion=candidate_words,
    ),
]
NewClasses = Annotated[
    Path | None,
    typer.Option("--classes", help="A class table with further classes that the model may name."),
]


def command_line() -> str:
    """The command as it was given, for a reader to repeat."""
    return shlex.join(["unseen", *sys.argv[1:]])


def open_data(data: str, split: str = "") -> ZeroShotDataset:
    """A data set; what was odd about it is said on standard error."""
    dataset = open_dataset(data, split or None)
    for text in dataset.notes[1:]:
        note(text)
    return dataset


def check_out(out: Path | None) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    if out is None:
        return
    folder = next(p for p in out.absolute().parents if os.path.exists(p))
    if not folder.is_dir():
        raise InputError(f"cannot write {out}: {folder} is not a folder")
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {out}: permission denied in {folder}")


def check_page_out(*paths: Path) -> None:
    """Pages and tables may replace those that the library wrote, but no other file."""
    for path in paths:
        check_out(path)
        if not os.path.exists(path):
            continue
        with path.open("rb") as file:
            start = file.read(1000)
        if start and not is_page(start) and not start.startswith(b"Made by `unseen "):
            raise InputError(
                f"cannot write {path}: the file is there already and was not written by unseen; "
                "choose another folder or remove it first"
            )


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
    note("the model has no names of columns; those of the file are taken in their order")
