"""The house plan: which room may import which, and how large its parts may grow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import unseen
from unseen import JLSE, load_digits_zero_shot

SOURCE = Path(unseen.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# Each room may import itself and those before it.
ROOMS = [
    "errors", "support", "files", "encoders", "classes", "rows", "metrics", "pairs", "storage",
    "solvers", "model", "training", "inference", "distributed", "estimators", "datasets",
    "evaluation", "apps",
]  # fmt: skip
APPS = ["plots", "report", "bench", "serve", "cli"]


def room(module: str, rooms: list[str], below: int = 1) -> int | None:
    """The place of a module's room in a list, None for one that is in no room of it."""
    parts = module.split(".")
    return rooms.index(parts[below]) if len(parts) > below and parts[below] in rooms else None


def modules(path: Path) -> Iterator[str]:
    """What a file imports of the library, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unseen":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("unseen."))


def dotted(path: Path) -> str:
    return ".".join(["unseen", *path.relative_to(SOURCE).with_suffix("").parts])


def test_there_are_rooms_and_hardly_a_loose_module():
    assert {p.name for p in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py"}
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(ROOMS) - {"errors"}


@pytest.mark.parametrize(("rooms", "below"), [(ROOMS, 1), (APPS, 2)], ids=["rooms", "apps"])
def test_imports_point_one_way(rooms: list[str], below: int):
    wrong = []
    for path in FILES:
        name = dotted(path)
        here, floor = room(name, rooms, below), name.split(".")[:below]
        for module in modules(path):
            there = room(module, rooms, below) if module.split(".")[:below] == floor else None
            if here is not None and there is not None and there > here:
                wrong.append(f"{name} imports {module}")
    assert not wrong


def test_no_function_takes_more_than_ten_arguments():
    """But those whose arguments a person gives by name: constructors of estimators, whose
    parameters scikit-learn wants one by one, and commands."""
    long = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                n = len([a for a in names if a.arg not in ("self", "cls")])
                if n > 10 and "apps/cli" not in path.as_posix():
                    long.append(f"{dotted(path)}.{node.name}: {n}")
    assert not long


def test_a_fit_of_jlse_passes_few_files():
    digits = load_digits_zero_shot()
    X, y = digits.training_set()
    JLSE().fit(X[::20], y[::20], classes=digits.classes)  # compiles, and imports what is late
    passed = set()

    def trace(frame: FrameType, event: str, _: Any) -> None:
        passed.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        JLSE().fit(X[::20], y[::20], classes=digits.classes)
    finally:
        sys.setprofile(before)
    ours = {name for name in passed if name.startswith(str(SOURCE))}
    assert 5 < len(ours) <= 20, sorted(ours)
