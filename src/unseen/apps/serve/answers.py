"""Answers: JSON whose numbers are all finite, and errors of one sentence with a status."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class RefusedError(Exception):
    """A request that is not answered: the status, and one sentence that says why."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class BusyError(RefusedError):
    """Too much is under way; the same request may do later."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence, Retry_After="1")


def encoded(value: Any) -> bytes:
    """JSON of values whose numbers are finite; NaN and infinity are an error, not an answer."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()


def answer(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


def refusal(error: RefusedError) -> Response:
    body = encoded({"error": error.sentence})
    return Response(body, error.status, error.headers, media_type="application/json")


async def refuse(error: RefusedError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer for the application, which does not see the request."""
    await refusal(error)(scope, receive, send)
