"""A model file, a gallery and a port: the service as the command line starts it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unseen.apps.serve.app import create_app
from unseen.apps.serve.pictures import Encoder, Thumbnails
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Settings
from unseen.datasets import ZeroShotDataset, data_folder, open_dataset
from unseen.errors import InputError
from unseen.estimators import load
from unseen.support.work import one_blas_thread

# Connections at a time; more are answered 503 by the server itself.
_CONNECTIONS = 1000
_TURN = 5e-4


def from_file(path: Path, data: str, which: str, settings: Settings) -> Current:
    """The model of a file with a gallery; a reload reads the file again, and keeps the gallery."""
    first = load(path)
    gallery = None
    if data:
        columns = vars(first).get("feature_names_in_")
        names = None if columns is None else tuple(map(str, columns))
        dataset = open_dataset(data).with_columns(names)
        # A published data set is known by its name, and its pictures lie where all of them do.
        folder = Path(data) if os.path.exists(data) else data_folder()
        gallery = gallery_of(dataset, which, folder, settings)

    def serve(model: Any) -> Served:
        return Served(model, path.stem, gallery, limits=settings.limits)

    return Current(serve(first), lambda: serve(load(path)))


def gallery_of(
    data: ZeroShotDataset, which: str, folder: Path | None, settings: Settings
) -> GalleryData:
    """The rows of a data set with what there is to show of them: all, or those of unseen classes.

    Pictures are read from inside its folder alone.
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
    elif data.image_paths is not None and folder is not None and any(data.image_paths):
        inside = folder if folder.is_dir() else folder.parent
        paths = data.image_paths.tolist()
        thumbnails = Thumbnails(paths=paths, folder=inside, most_pixels=most)
    return GalleryData(data.X, data.y, thumbnails, data.name)


def from_model(
    model: Any, data: GalleryData, name: str, encoder: Encoder | None, settings: Settings
) -> Current:
    """A model that was made just now."""
    return Current(Served(model, name, data, encoder, settings.limits))


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
        with one_blas_thread():
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
