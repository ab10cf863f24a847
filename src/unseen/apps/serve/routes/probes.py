"""Is it alive, is it ready, how is it doing; what it serves; and another model in its place."""

from __future__ import annotations

import asyncio
import secrets

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from unseen.apps.serve.answers import RefusedError
from unseen.apps.serve.bodies import JSON
from unseen.apps.serve.limits.measured import CONTENT_TYPE
from unseen.apps.serve.routes.context import Context, documented
from unseen.errors import InputError

_ALIVE = b'{"status":"ok"}'


class Status(BaseModel):
    status: str


class Facts(BaseModel, extra="allow"):
    """The model, what it can do, its gallery, and the limits of this service."""

    name: str
    method: str
    columns: int


class Classes(BaseModel):
    """Attributes with ranges and groups, and every class with its description."""

    attributes: list[dict]
    classes: list[dict]


def probes(context: Context) -> APIRouter:
    router = APIRouter()

    @router.get("/livez", **documented(Status))
    async def livez() -> Response:
        return Response(_ALIVE, media_type=JSON)

    @router.get("/readyz", **documented(Status))
    async def readyz() -> Response:
        return Response(_ALIVE, media_type=JSON)

    @router.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(context.measures.text(), media_type=CONTENT_TYPE)

    @router.get("/v1/model", **documented(Facts))
    async def model() -> Response:
        return Response(context.current.served.facts, media_type=JSON)

    @router.get("/v1/classes", **documented(Classes))
    async def classes() -> Response:
        return Response(context.current.served.classes, media_type=JSON)

    @router.post("/v1/reload", **documented(Facts, s409={"description": "the file is no model"}))
    async def reload(request: Request) -> Response:
        _check_token(context.settings.token, request)
        # A client that leaves, or does not wait so long, does not stop it half-way.
        work = asyncio.ensure_future(asyncio.to_thread(context.current.reload))
        try:
            served = await asyncio.shield(work)
        except InputError as error:
            sentence = f"{error} (the model in use stays)"
            raise RefusedError(409, sentence) from error
        context.measures.reloads.inc()
        return Response(served.facts, media_type=JSON)

    return router


def _check_token(token: str, request: Request) -> None:
    """A model is swapped only by who sends the token itself; a cookie is not enough."""
    if not token:
        raise RefusedError(403, "a model is swapped only with a token: start with --token")
    given = request.headers.get("authorization", "").partition(" ")[2].strip()
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise RefusedError(403, "a model is swapped only with 'Authorization: Bearer TOKEN'")
