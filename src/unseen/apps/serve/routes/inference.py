"""The Open Inference Protocol (V2), by which clients of other model servers speak to this one."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from unseen import __version__
from unseen.apps.serve import compute, schemas
from unseen.apps.serve.answers import RefusedError, answer
from unseen.apps.serve.bodies import JSON, as_rows, checked_rows
from unseen.apps.serve.routes.context import Context, documented, media_type
from unseen.apps.serve.schemas import InferBody, InferParameters, read_json
from unseen.apps.serve.served import Served
from unseen.errors import InputError

_NONE = {"description": "no such model"}


class Health(BaseModel, extra="allow"):
    """Whether the server or a model is alive or ready, or what it is."""


def inference(context: Context) -> APIRouter:
    router = APIRouter(prefix="/v2")

    def served_as(name: str) -> Served:
        served = context.current.served
        if name != served.name:
            raise RefusedError(404, f"there is no model {name[:60]!r}; this one is {served.name!r}")
        return served

    @router.get("", **documented(Health))
    async def server() -> Response:
        return answer({"name": "unseen", "version": __version__, "extensions": []})

    @router.get("/health/live", **documented(Health))
    async def live() -> Response:
        return answer({"live": True})

    @router.get("/health/ready", **documented(Health))
    async def ready() -> Response:
        return answer({"ready": True})

    @router.get("/models/{name}", **documented(Health, s404=_NONE))
    async def metadata(name: str) -> Response:
        served = served_as(name)
        width = {"name": "rows", "datatype": "FP64", "shape": [-1, served.width]}
        outputs = [
            {"name": "classes", "datatype": "BYTES", "shape": [-1, -1]},
            {"name": "scores", "datatype": "FP64", "shape": [-1, -1]},
        ]
        facts = {"name": name, "platform": f"unseen_{served.method}"}
        return answer(facts | {"inputs": [width], "outputs": outputs})

    @router.get("/models/{name}/ready", **documented(Health, s404=_NONE))
    async def model_ready(name: str) -> Response:
        return answer({"name": served_as(name).name, "ready": True})

    @router.post("/models/{name}/infer", **documented(schemas.Inferred, InferBody, s404=_NONE))
    async def infer(request: Request, name: str) -> Response:
        served = served_as(name)
        _check_kind(request)
        task = partial(_infer, served, await request.body())
        return answer(await context.workers.run(task))

    return router


def _check_kind(request: Request) -> None:
    """The protocol asks for no Content-Type, and clients of it send none."""
    if "inference-header-content-length" in request.headers:
        raise RefusedError(
            415, "binary tensors are not taken here: send numbers as JSON (binary_data=False)"
        )
    if "content-type" in request.headers:
        media_type(request, JSON)


def _infer(served: Served, content: bytes) -> dict[str, Any]:
    body = read_json(InferBody, content)
    given, asked = body.inputs[0], body.parameters or InferParameters()
    if given.name != "rows":
        raise InputError(f"the input is called 'rows', not {given.name[:60]!r}")
    flat: list[float] = []
    for value in given.data:
        flat += value if isinstance(value, list) else [value]
    shape = given.shape if len(given.shape) == 2 else [1, *given.shape]
    if len(shape) != 2 or shape[0] * shape[1] != len(flat):
        raise InputError(f"the shape {given.shape} does not fit the {len(flat)} numbers")
    X = as_rows([flat]).reshape(shape)
    X = checked_rows(X, served.width, served.limits.rows)
    found = compute.predicted(served, X, asked.k, served.candidates(asked.candidates))
    shape = [len(found["names"]), len(found["names"][0])]
    names = [str(name) for line in found["names"] for name in line]
    scores = [score for line in found["scores"] for score in line]
    outputs = [
        {"name": "classes", "datatype": "BYTES", "shape": shape, "data": names},
        {"name": "scores", "datatype": "FP64", "shape": shape, "data": scores},
    ]
    if body.outputs:
        outputs = [_named(outputs, wanted.get("name")) for wanted in body.outputs]
    facts = {"model_name": served.name, "outputs": outputs}
    return facts if body.id is None else facts | {"id": body.id}


def _named(outputs: list[dict[str, Any]], name: Any) -> dict[str, Any]:
    """The output that a request asks for."""
    found = next((output for output in outputs if output["name"] == name), None)
    if found is None:
        raise InputError(f"the outputs are 'classes' and 'scores'; there is no {str(name)[:60]!r}")
    return found
