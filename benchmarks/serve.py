"""Requests per second, latency, memory and reload of `unseen serve`, on loopback:

python -m benchmarks.serve [--seconds 3] [--requests 100000]

Starts the service in a process of its own, with a synthetic gallery of 20,000 rows and classes of
312 attributes, and drives it with 1, 8 and 64 connections. `/livez` computes nothing and is the
ceiling of the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unseen import GaussianMatch, make_zero_shot

TOKEN = "benchmark-token"
CONNECTIONS = (1, 8, 64)


class Request(NamedTuple):
    """One request, as bytes to send again and again."""

    name: str
    content: bytes


class Load(NamedTuple):
    """What a load found: answers, errors, and the seconds of each answer."""

    answered: int
    failed: int
    seconds: float
    latencies: np.ndarray

    @classmethod
    def joined(cls, loads: list[Load]) -> Load:
        answered, failed, seconds = (
            sum(values) for values in zip(*(x[:3] for x in loads), strict=True)
        )
        return cls(answered, failed, seconds, np.concatenate([x.latencies for x in loads]))

    @property
    def rate(self) -> float:
        return self.answered / self.seconds

    def percentile(self, share: float) -> float:
        return 1e3 * float(np.percentile(self.latencies, share)) if self.answered else np.nan


def request(name: str, path: str, body: bytes = b"", kind: str = "application/json") -> Request:
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    if body:
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return Request(name, head.encode() + b"\r\n" + body)


# -- the client -----------------------------------------------------------------------------------


async def load(port: int, content: bytes, connections: int, until: Callable[[int], bool]) -> Load:
    """Send one request over and over on each connection; `until` is asked with the count so far."""
    latencies: list[float] = []
    failed = 0

    async def one() -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not until(len(latencies) + failed):
            start = time.perf_counter()
            writer.write(content)
            status = await _answer(reader)
            if status == 200:
                latencies.append(time.perf_counter() - start)
            else:
                failed += 1
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return Load(len(latencies), failed, time.perf_counter() - start, np.array(latencies))


async def _answer(reader: asyncio.StreamReader) -> int:
    """The status of an answer, which is read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    await reader.readexactly(length)
    return int(head[9:12])


def for_seconds(seconds: float) -> Callable[[int], bool]:
    end = time.perf_counter() + seconds
    return lambda _: time.perf_counter() > end


# -- the service ----------------------------------------------------------------------------------


class Service:
    """`unseen serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        data = make_zero_shot(
            150, 50, rows_per_class=100, n_features=256, n_attributes=312, n_factors=30
        )
        self.data, self.path = data, folder / "model.unseen"
        self.model = GaussianMatch().fit(*data.training_set(), data.classes)
        self.model.save(self.path)
        archive = folder / "gallery.npz"
        np.savez(
            archive,
            X=data.X,
            y=data.y,
            class_names=data.classes.names,
            class_vectors=data.classes.vectors,
            unseen=data.unseen,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "unseen", "serve", str(self.path), "--data", str(archive)]
        environment = os.environ | {"UNSEEN_TOKEN": TOKEN}
        self.process = subprocess.Popen([*command, "--port", str(self.port)], env=environment)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("the service did not start")

    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def requests_of(service: Service) -> list[Request]:
    X, table = service.data.X, service.data.classes
    one = json.dumps({"rows": X[:1].astype(float).tolist()}).encode()
    head = b"\x93NUMPY\x01\x00v\x00"
    many = X[:256]
    shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {many.shape}, }}".ljust(117) + "\n"
    npy = head + shape.encode() + many.tobytes()
    vector = json.dumps({"vector": table.vectors[3].tolist(), "k": 24, "rivals": 8}).encode()
    return [
        request("/livez", "/livez"),
        request("/v1/predict, one row (JSON)", "/v1/predict", one),
        request("/v1/predict, 256 rows (.npy)", "/v1/predict", npy, "application/x-npy"),
        request("/v1/rank, a description, 20,000 rows", "/v1/rank", vector),
    ]


def throughput(service: Service, seconds: float, rounds: int = 20) -> None:
    """All requests in turn, many times: what else the machine does then meets all of them alike.

    The share of /livez is the median over the rounds, with the quartiles beside it.
    """
    requests = requests_of(service)
    print("| request | connections | requests/s | of /livez | p50 ms | p99 ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for connections in CONNECTIONS:
        found: dict[str, list[Load]] = {one.name: [] for one in requests}
        for _ in range(rounds):
            for one in requests:
                until = for_seconds(seconds / rounds)
                found[one.name].append(
                    asyncio.run(load(service.port, one.content, connections, until))
                )
        bare = np.array([one.rate for one in found["/livez"]])
        for name, loads in found.items():
            one = Load.joined(loads)
            lost = f" ({one.failed} refused)" if one.failed else ""
            shares = np.array([one.rate for one in loads])[bare > 0] / bare[bare > 0]
            low, middle, high = np.percentile(shares, [25, 50, 75]) if shares.size else [np.nan] * 3
            print(
                f"| {name}{lost} | {connections} | {one.rate:,.0f} "
                f"| {middle:.2f} ({low:.2f} to {high:.2f}) "
                f"| {one.percentile(50):.1f} | {one.percentile(99):.1f} |",
                flush=True,
            )


# Moves a slider; resolves with the milliseconds until the new order is in the page, and until the
# frame after that.
MOVE = """async (k) => {
  const slider = document.getElementById(`attribute-${k}`), took = document.getElementById("took");
  const changed = new Promise((done) => new MutationObserver((_, watch) => {
    watch.disconnect();
    done();
  }).observe(took, { childList: true }));
  const start = performance.now();
  slider.value = slider.max;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await changed;
  const ordered = performance.now() - start;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return [ordered, performance.now() - start];
}"""


def sliders(service: Service, moves: int = 60) -> None:
    """From a slider to the new order of 20,000 rows on the page, in a real browser."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None or find_spec("playwright") is None:
        print("\nNo Chromium or no playwright here: the page is not measured")
        return
    from playwright.sync_api import sync_playwright  # pyright: ignore[reportMissingImports]

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{service.port}/?token={TOKEN}#pane=describe")
        page.wait_for_selector("#described .cell")
        page.wait_for_timeout(1000)
        times = []
        for k in range(moves):
            times.append(page.evaluate(MOVE, k))
            page.wait_for_timeout(150)
        browser.close()
    for what, found in zip(("", ", and drawn"), np.transpose(times), strict=True):
        print(
            f"\nSlider to new order on the page{what}, {moves} moves: median "
            f"{np.median(found):.0f} ms, 90 % {np.percentile(found, 90):.0f} ms, "
            f"worst {found.max():.0f} ms",
            flush=True,
        )


def memory(service: Service, requests: int) -> None:
    """Resident memory while many requests are answered."""
    content = requests_of(service)[1].content
    sizes = [f"{service.memory():.0f} before"]
    for _ in range(5):
        asyncio.run(load(service.port, content, 8, lambda n: n >= requests // 5))
        sizes.append(f"{service.memory():.0f}")
    print(f"\nResident MB after each fifth of {requests:,} one-row requests: {', '.join(sizes)}")


def reload(service: Service, swaps: int = 5) -> None:
    """Other requests while the model is swapped: none may be lost."""
    content = requests_of(service)[1].content
    swap = request("", "/v1/reload", b"{}").content
    done = False

    async def both() -> tuple[Load, Load]:
        nonlocal done
        others = asyncio.ensure_future(load(service.port, content, 8, lambda _: done))
        swapped = await load(service.port, swap, 1, lambda n: n >= swaps)
        done = True
        return await others, swapped

    others, swapped = asyncio.run(both())
    print(
        f"\n{swapped.answered} reloads under load, {swapped.percentile(50):.0f} ms each: "
        f"{others.answered:,} other requests answered, {others.failed} lost"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each load")
    parser.add_argument("--requests", type=int, default=100_000, help="of the memory test")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"Load of the machine before: {load:.1f} on {os.cpu_count()} cores\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            throughput(service, min(given.seconds, 60.0))
            sliders(service)
            reload(service)
            memory(service, min(given.requests, 1_000_000))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
