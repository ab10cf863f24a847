"""The examples of the README run as printed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.apps.cli.test_page import assert_shows

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [code for kind, code in fences if kind == language]


def run(code: str, folder: Path) -> None:
    (folder / "example.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(folder / "example.py"))


def test_the_example_of_the_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = blocks("README.md", "python")
    shown, *_ = blocks("README.md", "text")
    assert len(first.strip().splitlines()) <= 10
    assert "GaussianMatch()" in first
    run(first, tmp_path)
    assert_shows(capsys.readouterr().out, shown)
    assert "0.931, chance 0.083" in shown


def test_the_further_examples_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, *more = blocks("README.md", "python")
    assert more
    for code in more:
        run(code, tmp_path)
