"""`unseen serve` and `unseen demo --serve` as a person starts and ends them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.apps.serve.conftest import HOST
from tests.common.command import assert_one_sentence, run_unseen
from unseen import GaussianMatch


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return free.getsockname()[1]


def test_what_cannot_be_served_is_one_sentence(tmp_path: Path, model: GaussianMatch):
    path = tmp_path / "m.unseen"
    model.save(path)
    assert_one_sentence(run_unseen("serve", tmp_path / "none.unseen"), "does not exist")
    assert_one_sentence(run_unseen("serve", path, "--host", "0.0.0.0"), "token is needed")
    assert_one_sentence(run_unseen("serve", path, "--data", "digits"), "64 feature columns")
    wrong = run_unseen("serve", path, "--data", "shapes", "--gallery", "some")
    assert_one_sentence(wrong, "'all' or 'unseen'")
    assert_one_sentence(run_unseen("demo", "--serve", "--data", "birds"), "'digits' and 'shapes'")
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_one_sentence(run_unseen("serve", path, "--port", port), "--port takes another")


@pytest.mark.slow
def test_the_demonstration_starts_and_ends(tmp_path: Path):
    port = free_port()
    command = [sys.executable, "-m", "unseen", "demo", "--serve", "--data", "digits"]
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"UNSEEN_TOKEN": ""},
    )
    base, end, facts = f"http://{HOST}:{port}", time.monotonic() + 60, {}
    while not facts and time.monotonic() < end:
        try:
            facts = httpx.get(f"{base}/v1/model", trust_env=False).json()
        except httpx.ConnectError:
            time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert facts["gallery"]["rows"] == 1797
    assert said == f"Serving at {base}/ - Ctrl-C ends it\n"
    assert process.returncode == 0
    assert not list(tmp_path.iterdir())
