"""Small pictures for tests: the drawn shapes of the examples."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np

_DRAWN = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "drawn_shapes.py"))
COLOURS: list[str] = list(_DRAWN["COLOURS"])
SHAPES: list[str] = list(_DRAWN["SHAPES"])
NAMES = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
UNSEEN = ["green disc", "blue cross", "red triangle", "yellow square"]


def picture(name: str, seed: int = 0) -> Any:
    return _DRAWN["draw"](*name.split(), np.random.default_rng(seed))


def photos(folder: Path, n: int = 3, names: list[str] = NAMES) -> Path:
    """A folder of n pictures per class, in folders named by the classes."""
    for k, name in enumerate(names):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for j in range(n):
            picture(name, 1000 * k + j).save(folder / name / f"{j}.png")
    return folder


def attributes(path: Path) -> Path:
    """A class table of numbers: which colour, which shape."""
    lines = [",".join(["name", *COLOURS, *SHAPES])]
    for name in NAMES:
        marks = [str(int(word in name.split())) for word in (*COLOURS, *SHAPES)]
        lines.append(",".join([name, *marks]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
