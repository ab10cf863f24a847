"""The gallery: what fits a class or a description best, and thumbnails."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from unseen.apps.serve import compute, schemas
from unseen.apps.serve.answers import RefusedError, answer
from unseen.apps.serve.bodies import JSON
from unseen.apps.serve.routes.context import Context, documented, media_type
from unseen.apps.serve.schemas import RankBody, read_json

_NONE = {"description": "no such row, or no picture of it"}


def gallery(context: Context) -> APIRouter:
    router = APIRouter(prefix="/v1")

    @router.post("/rank", **documented(schemas.Ranked, RankBody))
    async def rank(request: Request) -> Response:
        media_type(request, JSON)
        body = read_json(RankBody, await request.body())
        task = partial(compute.ranked, context.current.served, body)
        return answer(await context.workers.run(task))

    said = documented(schemas.Error, s404=_NONE)
    said["responses"][200] = {
        "description": "a small picture",
        "content": {"image/png": {}, "image/jpeg": {}},
    }

    @router.get("/gallery/{row}/thumb", response_class=Response, **said)
    async def thumb(row: Annotated[int, Path(ge=0, le=2**53)]) -> Response:
        data = context.current.served.data
        if data is None or data.thumbnails is None or row >= len(data.X):
            raise RefusedError(404, "the gallery has no picture of such a row")
        found = await context.workers.run(partial(data.thumbnails.get, row))
        if found is None:
            raise RefusedError(404, f"the picture of row {row} is missing or cannot be read")
        kind, content = found
        headers = {"Cache-Control": "private, max-age=3600"}
        return Response(content, media_type=kind, headers=headers)

    return router
