"""A model file, a gallery and a port: the service as the command line starts it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unseen.apps.serve.app import create_app
from unseen.apps.serve.encoders import NO_PICTURES, encoders_for
from unseen.apps.serve.pictures import Thumbnails
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Settings
from unseen.datasets import ZeroShotDataset, data_folder, open_dataset
from unseen.datasets.encoder_file import check_encoder
from unseen.datasets.findings import missing_pictures
from unseen.encoders.pictures import quiet
from unseen.errors import InputError
from unseen.estimators import load
from unseen.support.work import one_blas_thread

# Connections at a time; more are answered 503 by the server itself.
_CONNECTIONS = 1000
_TURN = 5e-4


@dataclass(frozen=True)
class Given:
    """What to serve, as a person gives it.

    data, which : the data set whose rows are the gallery, and which of them: "all" or "unseen".
    pictures : a further folder whose pictures may be shown; others are read from that of the data.
    images : where the encoder of pictures is, if it is not under the name that it had in training.
    """

    model_file: Path
    data: str = ""
    which: str = "all"
    pictures: Path | None = None
    images: str = ""


def from_file(
    given: Given, settings: Settings, note: Callable[[str], None] = lambda text: None
) -> Current:
    """The model of a file with a gallery; a reload reads the file again, and keeps the gallery.

    `note` is told what is odd.
    """
    path = given.model_file
    first = load(path)
    gallery = _gallery(given, first, settings, note) if given.data else None

    def serve(model: Any) -> Served:
        encoders = encoders_for(model, path, given.images, settings.limits)
        return Served(model, path.stem, gallery, encoders, settings.limits)

    served = serve(first)
    why = served.encoders.why_no_pictures
    if why and why != NO_PICTURES:
        note(f"pictures cannot be recognised: {why}")
    return Current(served, lambda: serve(load(path)))


def _gallery(
    given: Given, model: Any, settings: Settings, note: Callable[[str], None]
) -> GalleryData:
    check_encoder(model, given.data, given.model_file)
    columns = vars(model).get("feature_names_in_")
    names = None if columns is None else tuple(map(str, columns))
    is_here = os.path.exists(given.data)
    own = {"pictures": given.pictures, "like": model.class_table_} if is_here else {}
    dataset = open_dataset(given.data, **own).with_columns(names)
    for text in [*dataset.notes[1:], *(missing_pictures(dataset) if is_here else [])]:
        note(text)
    # A published data set is known by its name, and its pictures lie where all of them do.
    folders = [Path(given.data) if is_here else data_folder()]
    folders += [] if given.pictures is None else [given.pictures]
    return gallery_of(dataset, given.which, folders, settings)


def gallery_of(
    data: ZeroShotDataset, which: str, folders: Sequence[Path | None], settings: Settings
) -> GalleryData:
    """The rows of a data set with what there is to show of them: all, or those of unseen classes.

    Pictures are read from inside `folders` alone.
    """
    if which == "unseen":
        rows = data.unseen_rows
        if not rows.size:
            raise InputError(f"data set {data.name!r} has no rows of unseen classes: --gallery all")
        data = replace(
            data,
            X=data.X[rows],
            y=data.y[rows],
            images=None if data.images is None else data.images[rows],
            image_paths=None if data.image_paths is None else data.image_paths[rows],
            unseen=data.unseen[:0],
            test_rows=data.test_rows[:0],
            splits={},
        )
    elif which != "all":
        raise InputError(f"--gallery {which}: give 'all' or 'unseen'")
    thumbnails = None
    most = settings.limits.pixels
    if data.images is not None:
        thumbnails = Thumbnails(images=data.images, most_pixels=most)
    elif data.image_paths is not None and any(data.image_paths):
        inside = [path if path.is_dir() else path.parent for path in folders if path is not None]
        paths = data.image_paths.tolist()
        thumbnails = Thumbnails(paths=paths, folders=inside, most_pixels=most)
    return GalleryData(data.X, data.y, thumbnails, data.name)


def address(settings: Settings) -> str:
    """Where the page is, with the token that opens it."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    token = f"?token={settings.token}" if settings.token else ""
    return f"http://{host}:{settings.port}/{token}"


def run(current: Current, settings: Settings, started: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal ends it; requests in flight are finished first."""
    import uvicorn

    config = uvicorn.Config(
        create_app(current, settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=int(settings.limits.seconds),
        ws="none",
    )
    with listening(settings) as listener:
        started()
        # Threads that compute let the one that answers go on after this time, not after 5 ms.
        sys.setswitchinterval(_TURN)
        # Two requests computed at a time have a thread each.
        with one_blas_thread(), quiet():
            uvicorn.Server(config).run([listener])


def listening(settings: Settings) -> socket.socket:
    """A socket of the address, or an error that says why there is none."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, *_, place = found[0]
        # Said to be TCP, its connections send without delay; else asyncio does not know.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise InputError(f"cannot listen on {settings.host}: {error.strerror or error}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen on {settings.host}, port {settings.port}: "
            f"{error.strerror or error}; --port takes another"
        ) from error
    return listener
