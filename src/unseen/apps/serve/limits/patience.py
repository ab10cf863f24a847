"""How long a request may be under way, and a client that does not wait for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unseen.apps.serve.answers import BusyError, refuse
from unseen.apps.serve.settings import Limits


class Patience:
    """Cancels what takes too long, and what nobody waits for any more: its place is free then.

    Only requests with a body compute; others are over before anyone could leave.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.seconds = app, limits.seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        first = await receive()  # the whole body, see `WholeBody`
        answered = asyncio.Event()

        async def sending(message: Message) -> None:
            answered.set()
            await send(message)

        async def given() -> Message:
            nonlocal first
            if first is None:
                return await gone
            message, first = first, None
            return message

        gone = asyncio.ensure_future(_disconnected(receive))
        work = asyncio.ensure_future(_as_coroutine(self.app(scope, given, sending)))
        try:
            await asyncio.wait(
                {gone, work}, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done():
                work.result()
            elif not answered.is_set() and not gone.done():
                sentence = f"the answer took longer than {self.seconds:g} seconds; send fewer rows"
                await refuse(BusyError(sentence), scope, receive, send)
        finally:
            gone.cancel()
            work.cancel()


async def _as_coroutine(awaited: Any) -> Any:
    return await awaited


def _disconnected(receive: Receive) -> Coroutine[Any, Any, Message]:
    async def wait() -> Message:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return message

    return wait()
