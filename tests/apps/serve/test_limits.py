"""How much at a time: large and slow requests, the queue, those who leave, and a graceful stop."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.apps.serve.conftest import HOST, asking, running
from unseen.apps.serve import compute
from unseen.apps.serve.pictures import Thumbnails
from unseen.apps.serve.settings import Limits

BODY = json.dumps({"gallery": [0]}).encode()


def head(length: str, path: str = "/v1/predict") -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {HOST}", "Content-Type: application/json", length]
    return "\r\n".join([*lines, "", ""]).encode()


def status(connection: socket.socket) -> int:
    connection.settimeout(30)
    return int(connection.recv(12)[9:12])


def eventually(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Predictions begin and do not end before this is set."""
    opened, predicted = threading.Event(), compute.predicted

    def slow(*arguments: Any) -> Any:
        opened.wait(30)
        return predicted(*arguments)

    monkeypatch.setattr(compute, "predicted", slow)
    yield opened
    opened.set()


def computing(client: httpx.Client) -> float:
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("unseen_computing ")).split()[1])


def test_large_bodies(serve: Any):
    with running(serve(), Limits(body=1000, seconds=5)) as port:
        with socket.create_connection((HOST, port)) as announced:
            announced.sendall(head("Content-Length: 1001"))
            assert status(announced) == 413
        with socket.create_connection((HOST, port)) as chunked:
            chunked.sendall(head("Transfer-Encoding: chunked"))
            for _ in range(11):
                chunked.sendall(b"64\r\n" + b" " * 100 + b"\r\n")
            assert status(chunked) == 413
        with socket.create_connection((HOST, port)) as allowed:
            allowed.sendall(head("Content-Length: 1000") + BODY.ljust(1000))
            assert status(allowed) == 200


def test_many_bodies_at_once(serve: Any):
    with running(serve(), Limits(bodies=1500, seconds=5)) as port:
        with socket.create_connection((HOST, port)) as first:
            first.sendall(head("Content-Length: 2000") + b" " * 1000)
            time.sleep(0.2)
            with socket.create_connection((HOST, port)) as second:
                second.sendall(head("Content-Length: 2000") + b" " * 1000)
                assert status(second) == 503
        time.sleep(0.2)
        with socket.create_connection((HOST, port)) as third:  # who left has given his share back
            third.sendall(head("Content-Length: 1000") + BODY.ljust(1000))
            assert status(third) == 200


def test_a_client_that_sends_slowly(serve: Any):
    with (
        running(serve(), Limits(seconds=0.3)) as port,
        socket.create_connection((HOST, port)) as slow,
    ):
        slow.sendall(head("Content-Length: 100") + b"{")
        assert status(slow) == 408


def test_an_answer_that_takes_too_long(serve: Any, gate: threading.Event):
    with asking(serve(), Limits(seconds=0.3)) as client:
        answer = client.post(
            "/v1/predict", content=BODY, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert "longer than 0.3 seconds" in answer.json()["error"]


def test_the_queue_is_full_and_who_leaves_frees_a_place(serve: Any, gate: threading.Event):
    with running(serve(), Limits(threads=1, waiting=1)) as port:
        base = f"http://{HOST}:{port}"
        with (
            httpx.Client(base_url=base, trust_env=False, timeout=30) as client,
            ThreadPoolExecutor(2) as pool,
        ):
            first = pool.submit(httpx.post, f"{base}/v1/predict", json={"gallery": [0]}, timeout=30)
            assert eventually(lambda: computing(client) == 1)
            waiting = socket.create_connection((HOST, port))
            waiting.sendall(head(f"Content-Length: {len(BODY)}") + BODY)
            assert eventually(lambda: computing(client) == 2)
            refused = client.post("/v1/predict", json={"gallery": [0]})
            assert refused.status_code == 503
            assert refused.headers["Retry-After"] == "1"
            assert client.get("/livez").status_code == 200
            waiting.close()
            assert eventually(lambda: computing(client) == 1)
            last = pool.submit(httpx.post, f"{base}/v1/predict", json={"gallery": [1]}, timeout=30)
            assert eventually(lambda: computing(client) == 2)
            gate.set()
            assert first.result().status_code == last.result().status_code == 200
            assert eventually(lambda: computing(client) == 0)


def test_a_fault_that_no_future_can_hold_is_answered(serve: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute, "predicted", lambda *given: next(iter(())))
    with asking(serve(), Limits(seconds=5)) as client:
        assert client.post("/v1/predict", json={"gallery": [0]}).status_code == 500


def test_a_client_that_leaves_while_its_answer_is_computed(serve: Any, gate: threading.Event):
    with running(serve(), Limits(threads=1, waiting=0)) as port:
        base = f"http://{HOST}:{port}"
        with httpx.Client(base_url=base, trust_env=False, timeout=30) as client:
            leaving = socket.create_connection((HOST, port))
            leaving.sendall(head(f"Content-Length: {len(BODY)}") + BODY)
            assert eventually(lambda: computing(client) == 1)
            leaving.close()
            gate.set()  # what has begun is finished, and nobody gets it
            assert eventually(lambda: computing(client) == 0)
            assert client.post("/v1/predict", json={"gallery": [0]}).status_code == 200


def test_a_stop_finishes_what_is_under_way(serve: Any, gate: threading.Event):
    with ThreadPoolExecutor(1) as pool:
        with running(serve()) as port, httpx.Client(trust_env=False) as client:
            client.base_url = f"http://{HOST}:{port}"
            url = f"http://{HOST}:{port}/v1/predict"
            under_way = pool.submit(httpx.post, url, json={"gallery": [0]}, timeout=30)
            assert eventually(lambda: computing(client) == 1)
            threading.Timer(0.3, gate.set).start()
        assert under_way.result().status_code == 200


def test_requests_in_flight_finish_on_the_old_model(serve: Any, gate: threading.Event):
    current = serve()
    other = serve().served
    current.load = lambda: other
    with asking(current, token="a-long-token") as client, ThreadPoolExecutor(1) as pool:
        client.headers["Authorization"] = "Bearer a-long-token"
        under_way = pool.submit(client.post, "/v1/predict", json={"gallery": [0]})
        assert eventually(lambda: computing(client) == 1)
        assert client.post("/v1/reload").status_code == 200
        assert current.served is other
        gate.set()
        assert under_way.result().status_code == 200


def test_reloads_under_load_lose_no_request(serve: Any):
    current = serve()
    current.load = lambda: serve().served
    token = {"Authorization": "Bearer a-long-token"}
    with (
        running(current, token="a-long-token") as port,
        httpx.Client(base_url=f"http://{HOST}:{port}", trust_env=False, headers=token) as client,
    ):
        done, answers = threading.Event(), []

        def asks() -> None:
            with httpx.Client(base_url=client.base_url, trust_env=False, headers=token) as own:
                while not done.is_set():
                    answer = own.post("/v1/predict", json={"gallery": [1]}, timeout=30)
                    answers.append(answer.status_code)

        def swaps() -> int:
            swapped, before = client.post("/v1/reload", timeout=30), len(answers)
            assert eventually(lambda: len(answers) > before)
            return swapped.status_code

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(asks) for _ in range(3)]
            try:
                swapped = [swaps() for _ in range(5)]
            finally:
                done.set()
        for one in asking:
            one.result()  # an error if a connection was lost
    assert swapped == [200] * 5
    assert set(answers) == {200}


def test_who_leaves_before_a_thumbnail_is_made_frees_a_place(
    serve: Any, monkeypatch: pytest.MonkeyPatch
):
    gate, get = threading.Event(), Thumbnails.get
    monkeypatch.setattr(Thumbnails, "get", lambda *given: gate.wait(30) and get(*given))
    with running(serve(), Limits(threads=1, waiting=1)) as port:
        base = f"http://{HOST}:{port}"
        with httpx.Client(base_url=base, trust_env=False, timeout=30) as client:
            line = f"GET /v1/gallery/1/thumb HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
            computed, waiting = (socket.create_connection((HOST, port)) for _ in range(2))
            for connection in (computed, waiting):
                connection.sendall(line)
            assert eventually(lambda: computing(client) == 2)
            assert client.get("/v1/gallery/2/thumb").status_code == 503
            waiting.close()
            assert eventually(lambda: computing(client) == 1)
            gate.set()
            assert status(computed) == 200
            computed.close()


def test_metrics_name_routes_and_not_what_strangers_made_up(client: httpx.Client):
    client.get("/v1/gallery/1/thumb")
    client.get("/made/up/by/a/stranger")
    text = client.get("/metrics").text
    assert 'route="/v1/gallery/{row}/thumb",status="200"' in text
    assert "stranger" not in text
