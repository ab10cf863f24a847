"""The attacks of benchmarks/attack.py, fuzz.py and kills.py, in short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork"),
]
ROOT = Path(__file__).resolve().parents[1]


def run(name: str, *options: str) -> str:
    """Run a benchmark, which must find nothing; what it printed."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_damaged_and_forged_files_do_no_harm(tmp_path: Path) -> None:
    assert "1,200 files" in run("attack", "--quick", "--keep", str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif("CI" in os.environ, reason="half a minute: not on each push")
def test_killed_commands_lose_nothing() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    assert "10 stops" in run("kills", "--kills", "10", "--seed", "1")


def test_readers_are_fuzzed() -> None:
    pytest.importorskip("atheris")
    assert ": 0 findings" in run("fuzz", "--seconds", "3", "--only", "table, *")
