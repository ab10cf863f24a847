"""The option --checkpoint of long-running commands: stopped, they resume from a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from unseen.apps.cli.options import check_out
from unseen.errors import InputError
from unseen.storage import checkpoint as checkpoints
from unseen.storage import tensors

CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Keep the state of the work in this file. A command that was stopped resumes from it "
        "when it is given again; the file is removed when the work is done.",
    ),
]


def check_checkpoint(checkpoint: Path | None, out: Path | None) -> None:
    """Say before the work that a file cannot be its checkpoint."""
    if checkpoint is None:
        return
    check_out(checkpoint)
    if out is not None and checkpoint.absolute() == out.absolute():
        raise InputError("--checkpoint and --out must be two files")
    if os.path.exists(checkpoint) and checkpoints.KIND not in tensors.kind_of(checkpoint):
        raise InputError(
            f"{checkpoint} is there already and is not a checkpoint of unseen; choose another name"
        )


@contextmanager
def telling_how_to_resume(kept: Path | None) -> Iterator[None]:
    """Who presses Ctrl-C should know that what is kept in this file is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None and os.path.exists(kept):
            sys.stderr.write(f"Stopped; the same command resumes from {kept}\n")
        raise


def remove(checkpoint: Path | None) -> None:
    """The work is done and its result saved or shown."""
    if checkpoint is not None:
        checkpoints.remove(checkpoint)
