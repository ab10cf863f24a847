"""How long a request may be under way, and a client that does not wait for the answer."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unseen.apps.serve.answers import BusyError, refuse
from unseen.apps.serve.settings import Limits

_THUMBNAILS = "/v1/gallery/"


class Patience:
    """Cancels what takes too long, and what nobody waits for any more: its place is free then.

    Of requests without a body only those for thumbnails compute; the others are over before anyone
    could leave.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.seconds = app, limits.seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_light = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if scope["type"] != "http" or (is_light and not scope["path"].startswith(_THUMBNAILS)):
            await self.app(scope, receive, send)
            return
        # The whole body, see `WholeBody`, or that there is none.
        client = _Client(await receive(), receive, send)
        # What is answered without a wait needs no one who listens meanwhile.
        listening = asyncio.get_running_loop().call_soon(client.listen)
        try:
            async with asyncio.timeout(self.seconds) as time:
                await self.app(scope, client.receive, client.send)
        except TimeoutError:
            if not time.expired():
                raise
            if not client.is_answered:
                sentence = f"the answer took longer than {self.seconds:g} seconds; send fewer rows"
                await refuse(BusyError(sentence), scope, receive, send)
        except asyncio.CancelledError:
            if not client.has_left:
                raise
            client.task.uncancel()
        finally:
            listening.cancel()
            client.forget()


class _Client:
    """Who sent a request; the task that answers is cancelled if he leaves before it does."""

    def __init__(self, first: Message, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task, self._first, self._receive, self._send = task, [first], receive, send
        self._gone: asyncio.Future[Message] | None = None
        self.is_answered = self.has_left = False

    async def receive(self) -> Message:
        return self._first.pop() if self._first else await asyncio.shield(self.listen())

    async def send(self, message: Message) -> None:
        self.is_answered = True
        await self._send(message)

    def listen(self) -> asyncio.Future[Message]:
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._disconnected())
        return self._gone

    def forget(self) -> None:
        if self._gone is not None:
            self._gone.cancel()

    async def _disconnected(self) -> Message:
        while (message := await self._receive())["type"] != "http.disconnect":
            pass
        if not self.is_answered:
            self.has_left = True
            self.task.cancel()
        return message
