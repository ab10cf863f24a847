"""Run the blocks of a page and write it anew with what they print:

    python -m docs.blocks docs/own-data.md

Blocks run in order in one empty folder, `python` ones continue each other. What is printed takes
the place of what the page shows: below each `$ command` of a `console` block, and in a `text` block
that follows a `python` one. Times and memory, which differ from run to run, are left out.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from unseen.apps.cli import main

_BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ROOT = Path(__file__).resolve().parents[1]
_TIME = re.compile(r"\b\d[\d.,e-]*(?= s\b)")
_CHANGING = re.compile(r" *(.* )?(seconds|s|MB)( .*)?")


def refreshed(text: str) -> str:
    """The text of a page, with what its blocks print now."""
    with empty_folder():
        return _BLOCK.sub(_Page().block, text)


class _Page:
    """What the blocks of a page share: names of Python, and what was printed last."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "page"}
        self.printed: str | None = None

    def block(self, found: re.Match[str]) -> str:
        kind, code = found.groups()
        if kind == "console":
            lines = [line for line in code.splitlines() if line.startswith("$ ")]
            return fenced("console", "".join(map(shown, lines)))
        if kind == "python":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(code, "<block of the page>", "exec"), self.names)
            self.printed = out.getvalue()
        elif self.printed is not None:
            code, self.printed = without_times(self.printed), None
        return fenced(kind, code)


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"


def shown(line: str) -> str:
    """A line `$ command` and below it what the command prints."""
    return f"{line}\n{without_times(run(line[2:])).rstrip()}\n"


def run(command: str) -> str:
    """What a command prints on standard output; one that fails is an error here."""
    out, err = io.StringIO(), io.StringIO()
    arguments = shlex.split(command, comments=True)
    if arguments[0] == "python":
        with redirect_stdout(out):
            runpy.run_path(str(_ROOT / arguments[1]), run_name="__main__")
        return out.getvalue()
    with patch.object(sys, "argv", arguments), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"{command}: {err.getvalue()}") from None
    return out.getvalue()


@contextmanager
def empty_folder() -> Iterator[None]:
    """What is printed must not depend on where published data lie or how wide a terminal is."""
    kept = {k: v for k, v in os.environ.items() if k not in ("UNSEEN_DATA", "COLUMNS")}
    nowhere = {"return_value": Path("~/.cache/unseen")}  # not expanded: a folder of no user
    with (
        tempfile.TemporaryDirectory() as folder,
        chdir(folder),
        patch.dict(os.environ, kept, clear=True),
        patch("unseen.datasets.catalogue.data_folder", **nowhere),
        patch("unseen.apps.cli.about.data_folder", **nowhere),
    ):
        yield


def without_times(text: str) -> str:
    """The text with … in place of times and memory, in sentences and in tables."""
    lines, changing = [], []
    for line in text.splitlines():
        if line.startswith("┃"):
            changing = [bool(_CHANGING.fullmatch(cell)) for cell in line.strip("┃").split("┃")]
        if line.startswith("│"):
            cells = line.strip("│").split("│")
            is_time = cells[0].strip() in ("seconds", "s")
            hidden = [(is_time and k > 0) or c for k, c in enumerate(changing)]
            both = zip(cells, hidden, strict=True)
            line = "│" + "│".join("…".rjust(len(c) - 1) + " " if h else c for c, h in both) + "│"
        lines.append(_TIME.sub("…", line))
    return "\n".join(lines)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
