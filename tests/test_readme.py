"""The examples of the documentation run as printed."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unseen.cli import app

ROOT = Path(__file__).resolve().parents[1]


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
    assert len(first.strip().splitlines()) <= 10
    run(first, tmp_path)
    assert "chance 0.333" in capsys.readouterr().out


def test_the_further_examples_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, *more = blocks("README.md", "python")
    assert more
    for code in more:
        run(code, tmp_path)


def test_the_page_on_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, *use = blocks("docs/own-data.md", "python")
    run(make, tmp_path)
    commands = [line.split("#")[0] for line in blocks("docs/own-data.md", "")[0].splitlines()]
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)
    assert use
    for code in use:
        run(code, tmp_path)


def test_no_link_of_the_documentation_is_dead() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_named_by_the_paper_map_exist() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    named = re.findall(r"src/unseen/[\w/]+\.py", text)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
