"""Who is asked, and by which page: the headers `Host` and `Origin`.

A page of a stranger can send a browser's requests to this machine under a name of its own (DNS
rebinding), but not under ours. Numbers are addresses, which nobody can rebind.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from unseen.apps.serve.answers import RefusedError, refuse
from unseen.apps.serve.settings import LOOPBACK, Settings, as_address, is_loopback


class KnownHosts:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.only_loopback = is_loopback(settings.host)
        own = () if self.only_loopback else (settings.host, socket.gethostname())
        self.names = {name.casefold() for name in (*LOOPBACK, *own, *settings.names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            error = self.wrong(Headers(scope=scope))
            if error is not None:
                await refuse(error, scope, receive, send)
                return
        await self.app(scope, receive, send)

    def wrong(self, headers: Headers) -> RefusedError | None:
        given = headers.getlist("host")
        name = _name(given[0]) if len(given) == 1 else None
        if name is None or not self.knows(name):
            return RefusedError(
                421, "the Host header names another machine; --name NAME lets this one have it"
            )
        for origin in headers.getlist("origin"):
            if urlsplit(origin).netloc.casefold() != given[0].casefold():
                return RefusedError(403, "pages of other origins may not use this service")
        return None

    def knows(self, name: str) -> bool:
        if name in self.names:
            return True
        address = as_address(name)
        return address is not None and (not self.only_loopback or address.is_loopback)


def _name(host: str) -> str | None:
    """The name in a Host header, without its port."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # an error if it is no number
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and "@" not in host else None
