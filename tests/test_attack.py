"""The attack of benchmarks/attack.py, in short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_damaged_and_forged_files_do_no_harm(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.attack", "--quick", "--keep", str(tmp_path)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,200 files" in done.stdout
    assert not list(tmp_path.iterdir())
