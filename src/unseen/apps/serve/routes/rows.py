"""Rows in, names out: predict, explain, pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from unseen.apps.serve import compute, schemas
from unseen.apps.serve.answers import answer
from unseen.apps.serve.bodies import CSV, JSON, NPY, as_rows, checked_rows, read_csv, read_npy
from unseen.apps.serve.routes.context import Context, documented, media_type
from unseen.apps.serve.schemas import ExplainBody, PairsBody, PredictBody, read_json
from unseen.apps.serve.served import Served
from unseen.errors import InputError

# Bytes of JSON that hold a few rows.
_FEW = 64 * 2**10
_GROUPS = ("all", "seen", "unseen")
QUERY = [
    {
        "name": "k",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 1000},
        "description": "Candidates to name per row.",
    },
    {
        "name": "candidates",
        "in": "query",
        "schema": {"type": "array", "items": {"type": "string"}},
        "description": "all, seen, unseen, or names; by default the unseen classes.",
    },
]


def rows(context: Context) -> APIRouter:
    router = APIRouter(prefix="/v1")

    predict_said = documented(schemas.Predicted, PredictBody)
    content = predict_said["openapi_extra"]["requestBody"]["content"]
    content |= {NPY: {"schema": {"type": "string", "format": "binary"}}}
    content |= {CSV: {"schema": {"type": "string"}}}
    predict_said["openapi_extra"]["parameters"] = QUERY

    @router.post("/predict", **predict_said)
    async def predict(request: Request) -> Response:
        kind, content = media_type(request, JSON, NPY, CSV), await request.body()
        served, query = context.current.served, request.query_params
        if kind == JSON:
            if query:
                raise InputError("with a JSON body 'k' and 'candidates' belong into the body")
            task = partial(_predict_json, served, content)
            if _is_light(content):
                return answer(await context.workers.run_light(task))
        else:
            asked = query.get("k"), query.getlist("candidates")
            task = partial(_predict_file, served, content, kind, *asked)
        return answer(await context.workers.run(task))

    @router.post("/explain", **documented(schemas.Explained, ExplainBody))
    async def explain(request: Request) -> Response:
        media_type(request, JSON)
        body = read_json(ExplainBody, await request.body())
        task = partial(compute.explained, context.current.served, body)
        return answer(await context.workers.run(task))

    @router.post("/pairs", **documented(schemas.Paired, PairsBody))
    async def pairs(request: Request) -> Response:
        media_type(request, JSON)
        content, served = await request.body(), context.current.served
        task = partial(lambda: compute.paired(served, read_json(PairsBody, content)))
        return answer(await context.workers.run(task))

    return router


def _is_light(content: bytes) -> bool:
    """A few rows, and candidates that the model has met."""
    return len(content) < _FEW and b'"classes"' not in content and b'"candidates"' not in content


def _predict_json(served: Served, content: bytes) -> dict[str, Any]:
    body = read_json(PredictBody, content)
    shown: dict[str, Any] = {}
    if body.gallery is not None:
        X, shown = served.gallery_rows(body.gallery), served.needs_gallery().shown(body.gallery)
    else:
        X = checked_rows(as_rows(body.rows or []), served.width, served.limits.rows)
    return compute.named(served, X, body) | shown


def _predict_file(
    served: Served, content: bytes, kind: str, k: str | None, candidates: list[str]
) -> dict[str, Any]:
    X = read_npy(content) if kind == NPY else read_csv(content, served.columns)
    X = checked_rows(X, served.width, served.limits.rows)
    return predicted_as_asked(served, X, k, candidates)


def predicted_as_asked(
    served: Served, X: np.ndarray, k: str | None, candidates: list[str]
) -> dict[str, Any]:
    """The answer to a request whose `k` and `candidates` stand in its query."""
    if k is not None and not (k.isascii() and k.isdecimal() and 1 <= int(k[:9]) <= served.limits.k):
        raise InputError(f"k must be a whole number from 1 to {served.limits.k:,}")
    chosen: Any = candidates or None
    if len(candidates) == 1 and candidates[0] in _GROUPS:
        chosen = candidates[0]
    elif candidates:
        chosen = [_known(served, name) for name in candidates]
    table = served.candidates(chosen)
    return compute.predicted(served, X, None if k is None else int(k), table)


def _known(served: Served, text: str) -> Any:
    """The class that a text names: names may be numbers, which a query cannot tell."""
    names = served.model.class_table_.names
    if names.dtype.kind == "U":
        return text
    return next((name for name in np.asarray(names).tolist() if str(name) == text), text)
