"""Options that several commands share, and what a shell offers for them at the tab key."""

from __future__ import annotations

from glob import escape, glob
from pathlib import Path
from typing import Annotated

import typer

from unseen.apps.cli.config import settings_of_both
from unseen.datasets import EMBEDDED
from unseen.datasets.catalogue import entries
from unseen.estimators import METHODS


def method_names(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


def data_names(incomplete: str) -> list[str]:
    """Data sets that come along or lie in the folder of data, and paths."""
    known = [*EMBEDDED, *(entry.name for entry in entries() if entry.path is not None)]
    paths = sorted(f"{p}/" if Path(p).is_dir() else p for p in glob(f"{escape(incomplete)}*"))
    return [*(name for name in known if name.startswith(incomplete)), *paths]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set: a folder, a .npz file, or a name that 'unseen datasets' lists.",
        autocompletion=data_names,
    ),
]
DataSets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATA]...",
        help="Data sets: names of 'unseen datasets', or paths.",
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
Budget = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Start no new fit of a search after this time."),
]
Trials = Annotated[int, typer.Option(min=1, help="How many times each method is run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program, not tables.")]
NewClasses = Annotated[
    Path | None,
    typer.Option("--classes", help="A class table with further classes that the model may name."),
]
Folder = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]
Results = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of the results; a run there is resumed.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Keep the state of the work in this file. A command that was stopped resumes from it "
        "when it is given again; the file is removed when the work is done.",
    ),
]
