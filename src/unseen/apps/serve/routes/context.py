"""What endpoints share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from pydantic import BaseModel

from unseen.apps.serve import schemas
from unseen.apps.serve.answers import RefusedError
from unseen.apps.serve.bodies import JSON
from unseen.apps.serve.limits.measured import Measures
from unseen.apps.serve.served import Current
from unseen.apps.serve.settings import Settings
from unseen.apps.serve.workers import Workers

Endpoint = Callable[[Request], Awaitable[Any]]


@dataclass(frozen=True)
class Context:
    """The parts of one service."""

    current: Current
    settings: Settings
    workers: Workers
    measures: Measures


def media_type(request: Request, *known: str) -> str:
    """The kind of a body, one of those that the endpoint takes."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if given not in known:
        words = f"{'one of ' * (len(known) > 1)}{', '.join(known)}"
        raise RefusedError(415, f"the Content-Type of the request must be {words}")
    return given


def documented(
    answer: type[BaseModel], body: type[BaseModel] | None = None, **others: dict[str, Any]
) -> dict[str, Any]:
    """What /openapi.json says of an endpoint: what it takes and what it gives.

    `others` are statuses beside those of every endpoint, such as s404={}.
    """
    statuses = {"400": "cannot be used", "401": "token missing", "403": "not allowed"}
    statuses |= {"405": "wrong method", "421": "wrong host", "503": "too busy; see Retry-After"}
    if body is not None:
        statuses |= {"408": "too slow", "413": "too large", "415": "wrong Content-Type"}
    statuses |= {name.removeprefix("s"): what["description"] for name, what in others.items()}
    said: dict[str, Any] = {
        "responses": {
            200: {"model": answer},
            **{int(s): {"model": schemas.Error, "description": w} for s, w in statuses.items()},
        }
    }
    if body is not None:
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schema = _inlined(schema, schema.pop("$defs", {}))
        content = {JSON: {"schema": schema}}
        said["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return said


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    """A schema without references."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
        return {key: _inlined(value, parts) for key, value in schema.items()}
    return [_inlined(v, parts) for v in schema] if isinstance(schema, list) else schema
