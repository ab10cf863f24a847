"""How large a request may be, and how long it may take to arrive."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unseen.apps.serve.answers import BusyError, RefusedError, refuse
from unseen.apps.serve.settings import Limits


class WholeBody:
    """Receives a body before the application sees the request, and counts it as it arrives."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                is_whole = await self._receive(scope, receive, body)
            if is_whole:
                await self.app(scope, _giving(bytes(body), receive), send)
        except TimeoutError:
            seconds = f"{self.limits.seconds:g}"
            error = RefusedError(408, f"the request did not arrive within {seconds} seconds")
            await refuse(error, scope, receive, send)
        except RefusedError as error:
            await refuse(error, scope, receive, send)
        finally:
            self.held -= len(body)

    async def _receive(self, scope: Scope, receive: Receive, body: bytearray) -> bool:
        """Whether the body came to its end; a client that leaves gets no answer."""
        most = self.limits.body
        too_large = RefusedError(413, f"the request is larger than {most:,} bytes; send less")
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > most:
            raise too_large
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            part = message.get("body", b"")
            body += part
            self.held += len(part)
            if len(body) > most:
                raise too_large
            if self.held > self.limits.bodies:
                raise BusyError("too many large requests arrive at once; try again in a second")
            if not message.get("more_body", False):
                return True


def _giving(body: bytes, receive: Receive) -> Receive:
    """A `receive` that has the whole body first and then goes on with the client's."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return messages.pop() if messages else await receive()

    return give
