"""Commands of pictures and words: embed, encoders."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.apps.cli.options import Folder, Json
from unseen.apps.cli.output import note, say, show, show_json, working
from unseen.apps.cli.paths import as_argument, telling_how_to_resume
from unseen.datasets.class_words import TFIDF
from unseen.datasets.embed import embed_folder
from unseen.encoders.cache import cache_folder
from unseen.encoders.catalogue import known_encoders
from unseen.encoders.images import DEFAULT, ImageEncoder
from unseen.errors import counted, listed
from unseen.files.limits import is_below


def embed(
    photos: Annotated[str, typer.Argument(metavar="PHOTOS", help="A folder of pictures.")],
    out: Folder,
    classes: Annotated[
        Path | None,
        typer.Option(
            help="A table of the classes: names in the first column, then text, numbers or both. "
            "By default a class is described by its name."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="A table with the columns image and label; by default the folder in which a "
            "picture lies names its class."
        ),
    ] = None,
    images: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="The encoder: a name, a folder or an .onnx file."),
    ] = DEFAULT,
    text: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", help="What makes numbers of text: tfidf, a name or a folder."
        ),
    ] = TFIDF,
    template: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A sentence with {name} and {description} to fill in; repeatable, averaged.",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="How many pictures at once.")] = 32,
    threads: Annotated[
        int | None, typer.Option(min=1, help="How many threads; by default one per core.")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep vectors in this folder; by default in ~/.cache/unseen/embeddings, or where "
            "UNSEEN_CACHE says. A stopped command resumes from there, and only pictures that are "
            "new are encoded."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Turn a folder of pictures and words about their classes into a data set.

    Files that cannot be used are left out and listed in skipped.csv; the exit code is 1 if all are.

    Example: unseen embed photos/ --classes words.csv --out birds/
    """
    cache = cache_folder() if checkpoint is None else checkpoint
    encoder = ImageEncoder(images, batch_size, cache, offline, threads)
    with telling_how_to_resume(cache), working(f"embedding {photos}"):
        done = embed_folder(photos, out, classes, labels, encoder, text, template or (), offline)
    if json:
        show_json(asdict(done))
        return
    if done.skipped:
        note(f"{counted(len(done.skipped), 'file')} left out; {out / 'skipped.csv'} says why")
    if done.silent:
        are = "has" if len(done.silent) == 1 else "have"
        note(
            f"{listed(done.silent)} {are} no words in {classes}: fill them in, or train with "
            "--missing mean"
        )
    pictures = f"{counted(done.n_pictures, 'picture')} of {counted(done.n_classes, 'class')}"
    say(f"{pictures}, {done.width} numbers each, in {done.seconds:.2f} s: {out}")
    shown = "" if is_below(photos, out) else f" --pictures {as_argument(str(photos))}"
    say(f"Next: unseen check {as_argument(str(out))}{shown}")


def encoders(json: Json = False) -> None:
    """List encoders of pictures and of text: width, size, licence, where they are.

    Any other model that transformers or sentence-transformers can load may be named too.
    """
    found = known_encoders()
    if json:
        show_json([encoder._asdict() for encoder in found])
        return
    rows: list[list[Any]] = [
        [e.name, e.what, e.width or "-", e.megabytes or "-", e.licence, e.here] for e in found
    ]
    columns = ["name", "what it is", "width", "MB", "licence", "on this machine"]
    show("Encoders", columns, rows)
    say("--images takes those of pictures, --text those of text; both take a local folder, and")
    say("--images an .onnx file. A model that is not here: hf download NAME")
