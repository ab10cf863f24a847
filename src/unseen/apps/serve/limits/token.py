"""The token: a caller's `Authorization: Bearer`, or the cookie that the page was opened with."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from unseen.apps.serve.answers import RefusedError, refuse

COOKIE = "unseen_token"
# Probes know no token, and tell nothing.
_OPEN = ("/livez", "/readyz", "/v2/health/live", "/v2/health/ready")


class NeedsToken:
    """Nothing but probes without the token, where there is one.

    `/?token=…` opens the page: the browser keeps the token in a cookie that no script reads and no
    other site sends.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self.token or scope["path"] in _OPEN:
            await self.app(scope, receive, send)
        elif scope["path"] == "/" and self.is_right(_in_query(scope)):
            opened = RedirectResponse("/", 303)
            opened.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            await opened(scope, receive, send)
        elif any(map(self.is_right, _given(Headers(scope=scope)))):
            await self.app(scope, receive, send)
        else:
            sentence = (
                "this service needs its token: send 'Authorization: Bearer TOKEN', or open "
                "/?token=TOKEN in a browser"
            )
            error = RefusedError(401, sentence, WWW_Authenticate="Bearer")
            await refuse(error, scope, receive, send)

    def is_right(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.token.encode())


def _in_query(scope: Scope) -> str:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return query.get("token", [""])[0]


def _given(headers: Headers) -> list[str]:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = [bearer.strip()] if scheme.casefold() == "bearer" else []
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        cookie = None
    return given if cookie is None else [*given, cookie.value]
