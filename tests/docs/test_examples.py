"""Every example runs as it stands."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_new_member_beats_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = next(path for path in EXAMPLES if path.stem == "new_member")
    runpy.run_path(str(path), run_name="__main__")
    accuracy, chance = re.findall(r"\d\.\d+", capsys.readouterr().out)[:2]
    assert float(accuracy) > float(chance) + 0.05
