"""A small model with a gallery of drawn shapes, and the service of it, in process and live."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from unseen import GaussianMatch, ZeroShotDataset
from unseen.apps.serve.app import create_app
from unseen.apps.serve.demo import shape_rows
from unseen.apps.serve.encoders import Encoders
from unseen.apps.serve.pictures import Thumbnails
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Limits, Settings
from unseen.datasets.shapes import make_shapes

# Nothing here may reach further than this machine.
HOST = "127.0.0.1"


@pytest.fixture(scope="session")
def shapes() -> ZeroShotDataset:
    return make_shapes(8)


@pytest.fixture(scope="session")
def model(shapes: ZeroShotDataset) -> GaussianMatch:
    return GaussianMatch().fit(*shapes.training_set(), shapes.classes)


@pytest.fixture(scope="session")
def gallery(shapes: ZeroShotDataset) -> GalleryData:
    return GalleryData(shapes.X, shapes.y, Thumbnails(shapes.images), "shapes")


@pytest.fixture(scope="session")
def serve(model: GaussianMatch, gallery: GalleryData) -> Callable[..., Current]:
    """The service of a model, by default the usual one with pictures."""

    def make(given: Any = None, limits: Limits | None = None) -> Current:
        return Current(Served(given or model, "shapes", gallery, Encoders(shape_rows, ""), limits))

    return make


class _Server(uvicorn.Server):
    """A server that ends as soon as it is told to, and not at the next tenth of a second."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await asyncio.sleep(0.01)


@contextmanager
def running(current: Current, limits: Limits | None = None, token: str = "") -> Iterator[int]:
    """The service on a free port of this machine; gives the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind((HOST, 0))
        port = listener.getsockname()[1]
        settings = Settings(HOST, port, token, limits=limits or Limits())
        app = create_app(current, settings)
        server = _Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        end = time.monotonic() + 30
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def asking(
    current: Current, limits: Limits | None = None, token: str = ""
) -> Iterator[httpx.Client]:
    """A client of a service that runs as long as it is used."""
    with (
        running(current, limits, token) as port,
        httpx.Client(base_url=f"http://{HOST}:{port}", trust_env=False, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client(serve: Callable[..., Current]) -> Iterator[httpx.Client]:
    with asking(serve()) as made:
        yield made
