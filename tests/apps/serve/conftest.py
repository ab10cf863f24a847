"""A small model with a gallery of drawn shapes, and the service of it, in process and live."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from shutil import which
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


# -- a browser ---------------------------------------------------------------------------------

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; the tests of the page skip where one of them is missing."""
    chromium = os.environ.get("CHROMIUM") or which("chromium") or which("google-chrome")
    if chromium is None:
        pytest.skip("the page is not tested: no chromium on the path, and CHROMIUM names none")
    why = "the page is not tested: no playwright here (pip install playwright)"
    playwright: Any = pytest.importorskip("playwright.sync_api", reason=why)
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def pages(browser: Any) -> Iterator[Any]:
    """What makes empty pages; in the end nothing may have gone wrong on them, such as a violation
    of the Content-Security-Policy, and nothing may have left this machine."""
    contexts, wrong = [], []

    def note(message: Any) -> None:
        if message.type in ("error", "warning"):
            wrong.append(message.text)

    def check(request: Any) -> None:
        if not request.url.startswith((f"http://{HOST}:", "blob:", "data:")):
            wrong.append(request.url)

    def make(viewport: dict[str, int] | None = None, **options: Any) -> Any:
        viewport = viewport or {"width": 1200, "height": 900}
        contexts.append(browser.new_context(viewport=viewport, **options))
        page = contexts[-1].new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", check)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def page(pages: Any) -> Any:
    return pages()


@pytest.fixture(scope="module")
def port(serve: Any) -> Iterator[int]:
    with running(serve()) as found:
        yield found


def expect(what: Any) -> Any:
    """Playwright's own: what must come true within seconds."""
    return import_module("playwright.sync_api").expect(what)


def opened(page: Any, port: int, state: str = "") -> Any:
    page.goto(f"http://{HOST}:{port}/{state and '#' + state}")
    page.wait_for_selector("body[data-ready]")
    return page


@contextmanager
def served_to(page: Any, current: Current, state: str = "") -> Iterator[None]:
    """The page of a service of its own, which is closed before the service ends."""
    with running(current) as port:
        opened(page, port, state)
        yield
        page.close()


def shown(page: Any, grid: str = "#described") -> list[int]:
    rows = page.eval_on_selector_all(f"{grid} .cell", "cells => cells.map(c => c.dataset.row)")
    return [int(row) for row in rows]


def slide(page: Any, column: int, value: float) -> None:
    """Move a slider as a hand does, and wait for the answer."""
    with page.expect_response("**/v1/rank"):
        page.eval_on_selector(
            f"#attribute-{column}",
            "(s, v) => { s.value = v; s.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )
    page.wait_for_timeout(100)
