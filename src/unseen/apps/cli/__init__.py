"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 done, 1 the data or a file cannot be used, 2 the command was not understood,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from unseen import __version__
from unseen.apps.cli import about, bench, explain, models, report, rows, tune
from unseen.errors import InputError, MissingExtraError

app = typer.Typer(
    name="unseen",
    help="Recognise and retrieve classes without a single training example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with 'unseen demo'. For your own data: 'unseen check FOLDER', then 'unseen fit'.",
)
for command in (about.demo, about.check, models.fit, rows.predict, rows.retrieve):
    app.command()(command)
for command in (explain.explain, models.evaluate, tune.tune, bench.bench):
    app.command()(command)
for command in (bench.sweep, report.report, about.methods, about.datasets):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"unseen {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Recognise and retrieve classes without a single training example."""


def main() -> None:
    """Run the command line; what a user can mend is one sentence, not a traceback."""
    if isinstance(sys.stdout, TextIOWrapper):  # a name may hold what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app(prog_name="unseen")
    except (InputError, MissingExtraError) as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(1)
    finally:
        _flush()


def _flush() -> None:
    """Write out what is left; a reader that has gone, as `head` does, is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: Any) -> None:
    """A warning without the line of source that it comes from."""
    sys.stderr.write(f"Warning: {message}\n")
