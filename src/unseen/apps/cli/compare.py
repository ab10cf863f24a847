"""The command that puts methods side by side: compare; and the choice of `unseen fit -m auto`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unseen.apps.cli import options, paths
from unseen.apps.cli.output import note, say, show, show_json, working
from unseen.apps.report.comparison import comparison_table, write_comparison
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, counted, require
from unseen.estimators import available, method
from unseen.evaluation import comparing
from unseen.evaluation.comparison import Comparison
from unseen.storage import checkpoint as checkpoints

_BUDGET = 300.0

MethodOrAuto = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="The method; 'unseen methods' lists them, 'auto' takes what 'unseen compare' says.",
    ),
]
AutoBudget = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help=f"With --method auto: compare no longer than this, by default {_BUDGET:.0f}.",
    ),
]


def compare(
    data: options.Data,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method", "-m", help="A method, repeatable. Without it, every method installed."
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Start no fit after this time.")
    ] = _BUDGET,
    splits: Annotated[int, typer.Option(min=1, help="How many times classes are held out.")] = 10,
    hold_out: Annotated[
        float, typer.Option(help="Classes held out each time: a number, or a share below 1.")
    ] = 0.2,
    scoring: Annotated[
        Literal["per_class_accuracy", "mean_average_precision"],
        typer.Option(help="What decides: per_class_accuracy or mean_average_precision."),
    ] = "per_class_accuracy",
    split: options.Split = "",
    text: options.Text = "tfidf",
    missing: options.Missing = "error",
    checkpoint: options.Checkpoint = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a page with a picture there.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Say which method to take, by seen classes held out, and how sure that is.

    Every method gets the same splits, cheap ones first. The unseen classes take no part.

    Example: unseen compare birds/ -m gaussian-match -m jlse -m eszsl --out birds-methods
    """
    if out is not None:
        require("matplotlib", "report", "a page with a picture")
        paths.check_pages_out(out / "index.html")
    paths.check_model_out(None, checkpoint)
    for name in methods or []:
        method(name)
    dataset = paths.open_data(data, split, encoder=text, missing=missing)
    given: dict[str, Any] = {"n_splits": splits, "n_classes": hold_out, "scoring": scoring}
    with paths.telling_how_to_resume(checkpoint):
        found = compared(dataset, methods, budget, checkpoint=checkpoint, **given)
    page = out and write_comparison(found, dataset, out, paths.command_line())
    if checkpoint is not None:
        checkpoints.remove(checkpoint)
    if json:
        show_json(found.as_dict() | {"page": page})
        return
    show(*comparison_table(found, dataset.name))
    for sentence in found.in_words():
        say(sentence)
    fit = f"unseen fit {paths.as_argument(data)}{paths.table_options(text, missing)}"
    say(f"To fit it: {fit} --method {found.recommended} --out FILE")
    if page:
        say(f"The page: {page}; its figure as files: {page.parent / 'figures'}")


def compared(
    dataset: ZeroShotDataset, methods: list[str] | None, budget: float, **given: Any
) -> Comparison:
    """Methods on the training rows of a data set; progress is shown."""
    X, y = dataset.training_set()
    # A person writes 0 for no time at all, of which one fit is made.
    seconds = max(budget, 1e-9)
    with working(f"Comparing {counted(len(methods or available()), 'method')}"):
        return comparing.compare(X, y, dataset.classes, methods, budget=seconds, **given)


def check_auto(set_: list[str] | None, checkpoint: Path | None) -> None:
    """Which method it will be is not known yet, so nothing can be said of it."""
    for option, given in (("--set", set_), ("--checkpoint", checkpoint)):
        if given:
            raise InputError(
                f"{option} is of one method, and --method auto may take any: run 'unseen compare', "
                f"then 'unseen fit' with the method it recommends and {option}"
            )


def recommended(dataset: ZeroShotDataset, budget: float | None) -> str:
    """The method that `unseen fit --method auto` takes; why is said on standard error."""
    found = compared(dataset, None, _BUDGET if budget is None else budget)
    for text in found.in_words():
        note(text)
    return found.recommended
