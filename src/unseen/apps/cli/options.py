"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from unseen.apps.cli.config import settings_of_both

_DATA = "A data set: a folder, a .npz file, or a name that 'unseen datasets' lists."
_SPLIT = "Which division into seen and unseen classes, where the data set comes with several."
_BUDGET = "Start no new fit of a search after this time, but those of the default setting."
_CLASSES = "A class table with further classes that the model may name."
FEATURES = (
    "A feature file, a pattern or a folder of such files, a data set whose rows to use, or a "
    "folder of pictures."
)
_CHECKPOINT = (
    "Keep the state of the work in this file. A command that was stopped resumes from it when it "
    "is given again; the file is removed when the work is done."
)
_SETTING = "A parameter of the method; repeatable."
_MISSING = (
    "What stands for empty cells of the class table: error for none, mean for the mean of the seen "
    "classes, column for the same and a column that marks them."
)
_TEXT = "What encodes text in the class table: tfidf, or a sentence encoder by name or folder."
_PICTURES = "A folder of yours, outside of the data, whose pictures may be shown."
_DASK = (
    "Hand the fits to the workers of the Dask scheduler at this address, which see the same files; "
    "'local' for a process per core here."
)

Data = Annotated[str, typer.Argument(metavar="DATA", help=_DATA)]
DataSets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[DATA]...", help="Data sets: names of 'unseen datasets', or paths."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by 'unseen fit'.")]
Features = Annotated[str, typer.Argument(metavar="FEATURES", help=FEATURES)]
Method = Annotated[
    str, typer.Option("--method", "-m", help="The method; 'unseen methods' lists them.")
]
Missing = Annotated[Literal["error", "mean", "column"], typer.Option(help=_MISSING)]
Text = Annotated[str, typer.Option("--text", metavar="NAME", help=_TEXT)]
Pictures = Annotated[Path | None, typer.Option(metavar="FOLDER", help=_PICTURES)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", callback=settings_of_both, help=_SETTING),
]
Split = Annotated[str, typer.Option(help=_SPLIT)]
Budget = Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help=_BUDGET)]
Trials = Annotated[int, typer.Option(min=1, help="How many times each method is run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program, not tables.")]
NewClasses = Annotated[Path | None, typer.Option("--classes", help=_CLASSES)]
Table = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the whole result to this .csv file.")
]
Folder = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]
Results = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of the results; a run there is resumed.")
]
Dask = Annotated[str | None, typer.Option("--dask", metavar="ADDRESS", help=_DASK)]
Checkpoint = Annotated[Path | None, typer.Option(help=_CHECKPOINT)]
