"""Pictures of the page of `unseen serve`, taken in Chromium: python -m docs.make_serve

Writes docs/serve.png: the demonstration with the segments of a two on. `--all FOLDER` takes
every pane instead, wide and on a phone, light and dark, of both demonstrations and of services that
run already, such as `--all shots --also http://127.0.0.1:8000/`. Needs playwright.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).with_name("serve.png")
# The top, upper right, bottom, lower left and middle segments: a two.
TWO = "pane=describe&set=0:1,1:1,3:1,4:1,6:1"
PANES = {
    "recognise": "pane=recognise&row=50&among=all",
    "retrieve": "pane=retrieve",
    "describe": "pane=describe",
}
SIZES = {"wide": {"width": 1280, "height": 860}, "phone": {"width": 390, "height": 844}}


@contextmanager
def demonstration(data: str) -> Iterator[str]:
    """`unseen demo --serve` on a free port; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "unseen", "demo", "--serve", "--data", data]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(60)


def shoot(browser: Any, address: str, path: Path, viewport: dict[str, int], scheme: str) -> None:
    """One picture of the page at an address, when it has come to rest."""
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.wait_for_load_state("networkidle")
    if "pane=recognise" in address:
        page.locator("#bars button").first.click()
    page.wait_for_timeout(500)
    # Milliseconds differ from run to run.
    page.eval_on_selector("#took", "x => x.textContent = x.textContent.replace(/ in \\d+ ms/, '')")
    page.screenshot(path=path)
    context.close()


def shoot_all(browser: Any, name: str, address: str, folder: Path) -> None:
    for (pane, state), (size, viewport), scheme in product(
        PANES.items(), SIZES.items(), ("light", "dark")
    ):
        path = folder / f"{name}-{pane}-{size}-{scheme}.png"
        shoot(browser, f"{address}#{state}", path, viewport, scheme)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every pane, into this folder")
    parser.add_argument("--also", nargs="*", default=[], help="addresses of running services")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright  # pyright: ignore[reportMissingImports]

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if given.all is None:
            with demonstration("digits") as address:
                small = {"width": 1200, "height": 760}
                shoot(browser, f"{address}#{TWO}", PICTURE, small, "light")
            return
        given.all.mkdir(parents=True, exist_ok=True)
        for data in ("digits", "shapes"):
            with demonstration(data) as address:
                shoot_all(browser, data, address, given.all)
        for number, address in enumerate(given.also):
            shoot_all(browser, f"service{number}", address, given.all)


if __name__ == "__main__":
    main()
