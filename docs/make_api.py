"""Writes docs/api-reference.md, the API as plain Markdown: python -m docs.make_api

It has the same names as docs/api.md, in the same order, which is where a name gets its place.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.docstrings import is_noise

SOURCE = Path(__file__).with_name("api.md")
PAGE = Path(__file__).with_name("api-reference.md")
INTRODUCTION = """# API reference, plain

Made by `python -m docs.make_api` from the docstrings, for those who read without a
browser. The site has the same as [API reference](api.md). N rows, d_t columns, C classes, d_s
columns of the class table.
"""
_DIRECTIVE = re.compile(r"^\.\. auto(\w+):: ([\w.]+)\n((?:^[ ]{3}:.*\n)*)|^## (.*)$", re.MULTILINE)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def page() -> str:
    """The page, from the docstrings as they are now."""
    parts = [INTRODUCTION]
    for kind, name, options, title in _DIRECTIVE.findall(SOURCE.read_text(encoding="utf-8")):
        if title:
            parts.append(f"## {title}\n")
        elif kind == "module":
            parts += _module(name, options)
        elif kind != "data":
            parts += _entry(name, _found(name), options)
    return "\n".join(parts)


def _found(name: str) -> Any:
    """What a dotted name stands for; names without a module are those of `unseen`."""
    full = name if name.startswith("unseen.") else f"unseen.{name}"
    place, _, last = full.rpartition(".")
    return getattr(import_module(place), last)


def _module(name: str, options: str) -> Iterator[str]:
    module = import_module(name)
    yield f"{_text(module)}\n"
    for each in getattr(module, "__all__", vars(module)):
        value = getattr(module, each)
        if (
            (inspect.isroutine(value) or inspect.isclass(value))
            and not each.startswith("_")
            and value.__module__.startswith(name)
        ):
            yield from _entry(f"{name}.{each}", value, options)


def _entry(name: str, value: Any, options: str) -> Iterator[str]:
    full = name if name.startswith("unseen.") else f"unseen.{name}"
    yield f"### `{full}`\n"
    yield f"```python\n{full.rpartition('.')[2]}{_signature(value)}\n```\n"
    yield f"{_text(value)}\n"
    if inspect.isclass(value):
        for member in _members(value, options):
            yield from _member(value, member)


def _members(kind: type, options: str) -> list[str]:
    """The members that the directive names; all that are written in the class if it names none."""
    found = re.search(r":members:(.*)", options)
    if found is None:
        return []
    if names := [name.strip() for name in found[1].split(",") if name.strip()]:
        return names
    own = [name for name in vars(kind) if not name.startswith("_")]
    return [name for name in own if getattr(vars(kind)[name], "__doc__", None)]


def _member(kind: type, name: str) -> Iterator[str]:
    value = inspect.getattr_static(kind, name)
    if is_noise(None, "", name, value, False, None):
        return
    if isinstance(value, property):
        shown, text = name, _text(value)
    else:
        value = getattr(kind, name)
        if not callable(value):  # fields and values are in the docstring of the class
            return
        shown, text = f"{name}{_signature(value)}", _text(value)
    yield f"#### `{kind.__name__}.{name}`\n"
    yield f"```python\n{shown}\n```\n"
    yield f"{text}\n"


def _signature(value: Any) -> str:
    """How it is called, one argument in a line if it is long; without types."""
    if inspect.isclass(value) and issubclass(value, Exception | enum.Enum):
        return ""
    try:
        known = inspect.signature(value)
    except ValueError:
        return "(...)"
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in known.parameters.values()
        if each.name != "self"
    ]
    made = known.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    text = _ADDRESS.sub("", str(made))
    if len(text) <= 80:
        return text
    marks = _with_marks(bare)
    return "(\n" + "".join(f"    {_ADDRESS.sub('', mark)},\n" for mark in marks) + ")"


def _with_marks(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters as written, with the star before those that are given by name alone."""
    starred = False
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            starred = True
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(each)


def _text(value: Any) -> str:
    """The docstring as Markdown: equations and examples keep their form, lists become lists."""
    lines = (inspect.getdoc(value) or "").splitlines()
    out: list[str] = []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", line):
            continue
        if line.strip() and re.fullmatch(r"-{3,}", below):
            out.append(f"**{line}**\n")
        elif item := re.match(r"^(\w+(?:, \w+)*) : (.*)$", line):
            names = ", ".join(f"`{name}`" for name in item[1].split(", "))
            out.append(f"- {names}: {_plain(item[2])}")
        else:
            out.append(line if line.startswith("    ") else _plain(line))
    return _fenced_examples("\n".join(out))


def _plain(line: str) -> str:
    """A line without what Markdown would take for markup, outside of code."""
    parts = re.split(r"(`+[^`]+`+)", line)
    parts[::2] = [re.sub(r"([\\*<|]|\b_|_\b)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts) if not line.startswith(">>>") else line


def _fenced_examples(text: str) -> str:
    """Examples with their prompts, as blocks of code."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```python\n{each}\n```" if each.startswith(">>>") else each for each in paragraphs
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
