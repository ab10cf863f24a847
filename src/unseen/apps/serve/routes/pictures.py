"""Pictures in, names out, where there is an encoder that makes rows of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from unseen.apps.serve import schemas
from unseen.apps.serve.answers import RefusedError, answer
from unseen.apps.serve.routes.context import Context, documented, media_type
from unseen.apps.serve.routes.rows import QUERY, predicted_as_asked
from unseen.apps.serve.served import Served
from unseen.errors import InputError

_FORM = "multipart/form-data"
_SCHEMA = {
    "type": "object",
    "required": ["pictures"],
    "properties": {
        "pictures": {"type": "array", "items": {"type": "string", "format": "binary"}},
    },
}


def pictures(context: Context) -> APIRouter:
    router = APIRouter(prefix="/v1")
    said = documented(schemas.PicturesPredicted)
    for status, what in {408: "too slow", 413: "too large", 415: "wrong Content-Type"}.items():
        said["responses"][status] = {"model": schemas.Error, "description": what}
    body = {"required": True, "content": {_FORM: {"schema": _SCHEMA}}}
    said["openapi_extra"] = {"requestBody": body, "parameters": QUERY}

    @router.post("/predict/pictures", **said)
    async def predict_pictures(request: Request) -> Response:
        media_type(request, _FORM)
        served, query = context.current.served, request.query_params
        files = await _files(request, served.limits.pictures)
        asked = query.get("k"), query.getlist("candidates")
        return answer(await context.workers.run(partial(_predict, served, files, *asked)))

    return router


async def _files(request: Request, most: int) -> list[bytes]:
    """The contents of the pictures of a form."""
    too_many = RefusedError(413, f"one request may hold at most {most} pictures")
    try:
        form = await request.form(max_files=most, max_fields=8)
    except HTTPException as error:
        if "Too many" in str(error.detail):
            raise too_many from None
        raise InputError(f"the form cannot be read: {error.detail}") from None
    except FormParserError as error:  # older versions of Starlette let it through
        raise InputError(f"the form cannot be read: {error}") from None
    found = []
    try:
        for _, value in form.multi_items():
            if isinstance(value, UploadFile):
                found.append(await value.read())
    finally:
        await form.close()
    if not found:
        raise InputError("the form holds no file: send pictures as files named 'pictures'")
    return found


def _predict(
    served: Served, files: list[bytes], k: str | None, candidates: list[str]
) -> dict[str, Any]:
    X = served.picture_rows(files)
    return predicted_as_asked(served, X, k, candidates) | {"rows": X.tolist()}
