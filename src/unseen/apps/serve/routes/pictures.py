"""Pictures in, names out, where there is an encoder that makes rows of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from unseen.apps.serve import compute, schemas
from unseen.apps.serve.answers import RefusedError, answer
from unseen.apps.serve.bodies import checked_rows
from unseen.apps.serve.pictures import read_picture
from unseen.apps.serve.routes.context import Context, documented, media_type
from unseen.apps.serve.served import Served
from unseen.errors import InputError, naming

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
    said = documented(schemas.Predicted)
    for status, what in {408: "too slow", 413: "too large", 415: "wrong Content-Type"}.items():
        said["responses"][status] = {"model": schemas.Error, "description": what}
    body = {"required": True, "content": {_FORM: {"schema": _SCHEMA}}}
    said["openapi_extra"] = {"requestBody": body}

    @router.post("/predict/pictures", **said)
    async def predict_pictures(request: Request) -> Response:
        media_type(request, _FORM)
        served = context.current.served
        if served.encoder is None:
            raise InputError("this model names no encoder of pictures: send rows to /v1/predict")
        files = await _files(request, served.limits.pictures)
        return answer(await context.workers.run(partial(_predict, served, files)))

    return router


async def _files(request: Request, most: int) -> dict[str, bytes]:
    """The pictures of a form, by name."""
    too_many = RefusedError(413, f"one request may hold at most {most} pictures")
    try:
        form = await request.form(max_files=most, max_fields=8)
    except HTTPException as error:
        if "Too many" in str(error.detail):
            raise too_many from None
        raise InputError(f"the form cannot be read: {error.detail}") from None
    except FormParserError as error:  # older versions of Starlette let it through
        raise InputError(f"the form cannot be read: {error}") from None
    found = {}
    try:
        for _, value in form.multi_items():
            if isinstance(value, UploadFile):
                found[f"picture {len(found)}"] = await value.read()
    finally:
        await form.close()
    if not found:
        raise InputError("the form holds no file: send pictures as files named 'pictures'")
    return found


def _predict(served: Served, files: dict[str, bytes]) -> dict[str, Any]:
    assert served.encoder is not None
    opened = []
    for name, content in files.items():
        with naming(name):
            opened.append(read_picture(content, served.limits.pixels))
    X = checked_rows(served.encoder(opened), served.width, served.limits.rows)
    return compute.predicted(served, X, None, served.candidates(None, None))
