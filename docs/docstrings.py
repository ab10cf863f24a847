"""Docstrings of the library as Sphinx reads them.

They are plain text: equations stand indented, `name : what it is` lists what a function takes, bars
are lengths and stars are stars. reStructuredText would take most of that for markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

_CODE = re.compile(r"(`+[^`]+`+)")
_MARKUP = re.compile(r"([\\|*]|_(?!\w))")
_ITEM = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Hook of autodoc: the lines of a docstring, in place."""
    lines[:] = converted(lines)


def is_noise(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Hook of autodoc: leave out what nobody wrote, fields of tuples and requests of metadata."""
    text = (getattr(obj, "__doc__", None) or "").lstrip()
    noise = text.startswith("Alias for field number") or name.endswith("_request")
    return True if noise else None


def converted(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText."""
    out: list[str] = []
    for title, body in _sections(lines):
        out += [f".. rubric:: {inline(title)}", ""] if title else []
        out += _text(body)
    return out


def inline(text: str) -> str:
    """Code in double backticks, all else without meaning."""
    parts = _CODE.split(text)
    return "".join(
        f"``{part.strip('`')}``" if k % 2 else _MARKUP.sub(r"\\\1", part)
        for k, part in enumerate(parts)
    )


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Title, empty at first, and lines of each section; a title has dashes below it."""
    title, body = "", []
    skip = False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if skip:
            skip = False
        elif line.strip() and re.fullmatch(r"-{3,}", after):
            yield title, body
            title, body, skip = line, [], True
        else:
            body.append(line)
    yield title, body


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield list(group)


def _text(lines: list[str]) -> list[str]:
    """Paragraphs; what stands indented is an equation, and keeps its form."""
    out: list[str] = []
    for indented, group in groupby(_paragraphs(lines), key=lambda p: p[0].startswith("    ")):
        out += ["::", ""] if indented else []
        for paragraph in group:
            if indented or paragraph[0].startswith(">>>"):
                out += paragraph
            elif _ITEM.match(paragraph[0]):
                out += _items(paragraph)
            else:
                out += [inline(line) for line in paragraph]
            out.append("")
    return out


def _items(lines: list[str]) -> Iterator[str]:
    """`name : what it is`, which may go on for several lines, as a list of terms."""
    for line in lines:
        item = _ITEM.match(line)
        if item:
            yield ", ".join(f"``{name}``" for name in item[1].split(", "))
        yield f"    {inline(item[2] if item else line.strip())}"
