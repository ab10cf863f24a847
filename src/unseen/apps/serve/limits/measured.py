"""What Prometheus may ask for: requests by route and status, their time, and the queue."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Measures:
    """The counters of one service."""

    def __init__(self, under_way: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        by = ["route", "status"]
        self.requests = Counter("unseen_requests", "Requests answered.", by, registry=self.registry)
        self.seconds = Histogram(
            "unseen_request_seconds",
            "Time from a request to its answer.",
            ["route"],
            buckets=_BOUNDS,
            registry=self.registry,
        )
        self.reloads = Counter("unseen_reloads", "Models swapped.", registry=self.registry)
        queue = Gauge(
            "unseen_computing", "Requests in the queue or being computed.", registry=self.registry
        )
        queue.set_function(lambda: float(under_way()))

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def add(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)


class Measured:
    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self.app, self.measures = app, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 499  # the client left before an answer

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            # A route by its pattern: an address that a stranger made up is no label.
            route = getattr(scope.get("route"), "path", "other")
            self.measures.add(route, status, time.perf_counter() - start)
