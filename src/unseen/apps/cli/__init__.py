"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 done, 1 the data or a file cannot be used, 2 the command was not understood,
130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from unseen import __version__
from unseen.apps.cli.config import JSON_ASKED, configured
from unseen.errors import InputError, MissingExtraError
from unseen.support.text import visible

# A message of this many letters says enough, whatever the names in it.
_LONGEST = 2000
_UNWRITTEN = "the result cannot be written"
# What is raised where a command is not understood; typer has no name for it of its own.
_NotUnderstood: Any = typer.BadParameter.__base__

# The module of each command and the first line of its help: with these 'unseen --help' loads none
# of what the commands need.
COMMANDS = {
    "demo": ("about", "Learn drawn things such as a red star, find others by their description."),
    "embed": ("embed", "Turn a folder of pictures and words about their classes into a data set."),
    "check": ("about", "Read a data set and say in plain words what was found and what is wrong."),
    "compare": (
        "compare",
        "Say which method to take, by seen classes held out, and how sure that is.",
    ),
    "fit": ("models", "Train a model on the seen classes of a data set and save it."),
    "predict": ("rows", "Name the class of each row, among classes that had no training rows."),
    "retrieve": ("retrieving", "Find the rows that fit the description of a class best."),
    "explain": ("rows", "Say why a row is, or is not, of a class."),
    "reveal": ("revealing", "Add described classes to a model and save it."),
    "evaluate": ("models", "Measure a model on the unseen classes of a data set."),
    "tune": ("models", "Choose parameters by holding out seen classes."),
    "bench": ("bench", "Measure methods on data sets, over several trials."),
    "sweep": ("bench", "Accuracy against one parameter, as numbers and as a picture."),
    "report": ("bench", "Write a page of a model on a data set, or of a benchmark."),
    "index": ("gallery", "Embed many rows once, so that retrieving from them is fast."),
    "serve": (
        "serve",
        "Serve a model: a page to recognise, retrieve and describe with, and its API.",
    ),
    "methods": ("about", "List the methods with their parameters, or describe one in full."),
    "datasets": ("about", "List data sets: embedded ones, published ones and where to get them."),
    "encoders": (
        "embed",
        "List encoders of pictures and of text: width, size, licence, where they are.",
    ),
}


def command(name: str) -> Any:
    """A command with all its options, and that of a file of them; its module is imported."""
    module, _ = COMMANDS[name]
    made = _single(name, getattr(import_module(f"unseen.apps.cli.{module}"), name))
    made.params += _single("config", configured).params
    return made


def _single(name: str, function: Callable[..., None]) -> Any:
    alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    alone.command(name)(function)
    return typer.main.get_command(alone)


@contextmanager
def _told_of_a_stop() -> Iterator[None]:
    """Ctrl-C ends in one line: what was told with it, if anything. Typer would say nothing."""
    try:
        yield
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"{stop if stop.args else 'Stopped.'}\n")
        sys.exit(130)


@contextmanager
def _told_to_programs() -> Iterator[None]:
    """A command that was not understood is JSON too; typer tells it to a person."""
    try:
        yield
    except _NotUnderstood as error:
        _tell_program(visible(error.format_message()))
        raise


class Commands(TyperGroup):
    """Commands that are known by their help alone until one of them is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else command(name), rest

    def make_context(self, *given: Any, **more: Any) -> Any:
        with _told_of_a_stop(), _told_to_programs():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        with _told_of_a_stop(), _told_to_programs():
            return super().invoke(ctx)


app = typer.Typer(
    name="unseen",
    cls=Commands,
    help="Recognise and retrieve classes without a single training example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with 'unseen demo'. For your own data: 'unseen check FOLDER', then 'unseen fit'.",
)
for _name, (_, _summary) in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"unseen {__version__}")
        raise typer.Exit


@app.callback()
def _shared(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Recognise and retrieve classes without a single training example."""


def main() -> None:
    """Run the command line; what a user can mend is one sentence, not a traceback."""
    _open_closed()
    JSON_ASKED.set("--json" in sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    told = False
    try:
        with _told_of_a_stop(), _naming_result(), warnings.catch_warnings():
            warnings.showwarning = _warn
            app(prog_name="unseen")
    except (InputError, MissingExtraError) as error:
        told = True
        _fail(str(error))
    except OSError as error:
        told = True
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}")
    finally:
        _flush(told)


@contextmanager
def _naming_result() -> Iterator[None]:
    """An error in writing to standard output, which has no name, says what it is about."""
    stream: Any = sys.stdout
    calls = ("write", "flush") if isinstance(stream, TextIOWrapper) else ()
    for name in calls:
        setattr(stream, name, _named(getattr(stream, name)))
    try:
        yield
    finally:
        for name in calls:
            delattr(stream, name)


def _named(call: Callable[..., Any]) -> Callable[..., Any]:
    def named(*given: Any) -> Any:
        try:
            return call(*given)
        except OSError as error:
            error.filename = _UNWRITTEN
            raise

    return named


def _fail(message: str) -> NoReturn:
    message = visible(message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ...")
    _tell_program(message)
    sys.stderr.write(f"Error: {message}\n")
    sys.exit(1)


def _tell_program(message: str) -> None:
    """A program reads JSON, whatever became of the command."""
    if JSON_ASKED.get():
        with suppress(OSError):  # that it cannot be written is told once, and may be this error
            print(json.dumps({"error": message}))


def _open_closed() -> None:
    """A stream that the caller has closed takes what is written to it, and loses it."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _flush(told: bool) -> None:
    """Write what is left of the result, while an error can still be told, if none has been."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # What cannot be written would be tried again, and told again, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        is_gone = isinstance(error, BrokenPipeError)  # a reader that has left, as `head` does
        if not is_gone and not told:
            _fail(f"{_UNWRITTEN}: {error.strerror or error}")


def _warn(message: Warning | str, *_: Any) -> None:
    """A warning without the line of source that it comes from."""
    sys.stderr.write(f"Warning: {visible(message)}\n")
