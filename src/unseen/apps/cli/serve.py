"""The command that serves a model: its API and its page."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.apps.cli.options import Model, Pictures
from unseen.apps.cli.output import note, working
from unseen.apps.cli.pictures import Images
from unseen.errors import require

if TYPE_CHECKING:
    from unseen.apps.serve.served import Current
    from unseen.apps.serve.settings import Settings

Host = Annotated[
    str,
    typer.Option(help="The address to listen on; any other than a loopback one needs a token."),
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
Token = Annotated[
    str,
    typer.Option(envvar="UNSEEN_TOKEN", help="What callers must know; better set UNSEEN_TOKEN."),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--name", help="A further name under which the machine is reached; repeatable."),
]


def serve(
    model_file: Model,
    data: Annotated[
        str, typer.Option(help="A data set whose rows are the gallery to search in.")
    ] = "",
    gallery: Annotated[
        str, typer.Option(help="Which rows of it: all, or those of unseen classes ('unseen').")
    ] = "all",
    pictures: Pictures = None,
    images: Images = "",
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = "",
    name: Names = None,
) -> None:
    """Serve a model: a page to recognise, retrieve and describe with, and its API.

    Example: unseen serve birds.unseen --data birds
    """
    require("fastapi", "serve", "the service")
    from unseen.apps.serve.run import Given, from_file
    from unseen.apps.serve.settings import Settings

    settings = Settings(host, port, token, tuple(name or ()))
    notes: list[str] = []
    with working(f"loading {model_file}"):
        given = Given(model_file, data, gallery, pictures, images)
        current = from_file(given, settings, notes.append)
    for text in notes:
        note(text)
    start(current, settings)


def start(current: Current, settings: Settings) -> None:
    """Serve until Ctrl-C, and say where."""
    from unseen.apps.serve.run import address, run

    def tell() -> None:
        sys.stderr.write(f"Serving at {address(settings)} - Ctrl-C ends it\n")

    with suppress(KeyboardInterrupt):
        run(current, settings, tell)


def serve_demo(data: str, port: int) -> None:
    """The service of the demonstration, for this machine alone."""
    require("fastapi", "serve", "the service")
    from unseen.apps.serve.demo import demo
    from unseen.apps.serve.settings import Settings

    settings = Settings(port=port, token=os.environ.get("UNSEEN_TOKEN", ""))
    with working("making the demonstration"):
        current = demo(data, settings)
    start(current, settings)
