"""The application: endpoints, the page, and the layers that protect them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from unseen import __version__
from unseen.apps.serve.answers import RefusedError, refusal
from unseen.apps.serve.limits.body import WholeBody
from unseen.apps.serve.limits.headers import SafeHeaders
from unseen.apps.serve.limits.hosts import KnownHosts
from unseen.apps.serve.limits.measured import Measured, Measures
from unseen.apps.serve.limits.patience import Patience
from unseen.apps.serve.limits.token import NeedsToken
from unseen.apps.serve.routes.context import Context
from unseen.apps.serve.routes.gallery import gallery
from unseen.apps.serve.routes.inference import inference
from unseen.apps.serve.routes.pictures import pictures
from unseen.apps.serve.routes.probes import probes
from unseen.apps.serve.routes.rows import rows
from unseen.apps.serve.served import Current
from unseen.apps.serve.settings import Settings
from unseen.apps.serve.workers import Workers
from unseen.errors import InputError, MissingExtraError

STATIC = Path(__file__).with_name("static")


def create_app(current: Current, settings: Settings | None = None) -> ASGIApp:
    """The service of one model, protected: an ASGI application for uvicorn or for tests."""
    settings = settings or Settings()
    limits = settings.limits
    workers = Workers(limits.threads, limits.waiting)
    measures = Measures(lambda: workers.under_way)
    app: ASGIApp = _endpoints(Context(current, settings, workers, measures))
    app = Patience(app, limits)
    app = WholeBody(app, limits)
    app = NeedsToken(app, settings.token)
    app = KnownHosts(app, settings)
    app = Measured(app, measures)
    return SafeHeaders(app)


def _endpoints(context: Context) -> FastAPI:
    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        context.workers.stop()

    app = FastAPI(
        title="unseen",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=living,
    )
    for make in (rows, probes, gallery, pictures, inference):  # what is asked most comes first
        app.include_router(make(context))

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    app.mount("/static", _Static(directory=STATIC, follow_symlink=False), "static")
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(InputError, _input_error)
    app.add_exception_handler(MissingExtraError, _input_error)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _fault)
    return app


class _Static(StaticFiles):
    """The parts of the page, which a browser asks for again: another version may be served now."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        found = super().file_response(*arguments, **options)
        found.headers["Cache-Control"] = "no-cache"
        return found


async def _refused(_: Request, error: Any) -> Response:
    return refusal(error)


async def _input_error(_: Request, error: Exception) -> Response:
    return refusal(RefusedError(400, str(error)))


async def _not_valid(_: Request, error: Any) -> Response:
    """A part of the address that is no number; bodies are read elsewhere."""
    part = error.errors()[0]["loc"][-1]
    return refusal(RefusedError(400, f"the {part} in the address must be a whole number, from 0"))


async def _http_error(_: Request, error: Any) -> Response:
    sentences = {404: "there is nothing at this address", 405: "this address takes other methods"}
    sentence = sentences.get(error.status_code, str(error.detail))
    made = RefusedError(error.status_code, sentence)
    made.headers = dict(error.headers or {})
    return refusal(made)


async def _fault(_: Request, error: Exception) -> Response:
    """A fault of ours; its traceback goes to the log, not to the caller."""
    return refusal(RefusedError(500, "the service failed on this request; its log says where"))
