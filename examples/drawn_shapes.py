"""Draw a folder of small pictures and a list of words: sixteen classes of coloured shapes.

    python examples/drawn_shapes.py

writes drawn/photos/<class>/*.png, drawn/new/*.png, and drawn/words.csv with a sentence for each
class. docs/pictures.md goes on from there. Needs Pillow.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

COLOURS = {
    "red": (205, 45, 40),
    "green": (50, 150, 70),
    "blue": (45, 85, 190),
    "yellow": (230, 190, 40),
}
SHAPES = {
    "disc": "round, without any corner",
    "square": "straight, with four corners",
    "triangle": "straight, with three corners and a slope on each side",
    "cross": "straight, two bars over each other with many corners",
}
SIDE = 64


def outline(shape: str, x: float, y: float, r: float) -> list[tuple[float, float]]:
    """The corners of a shape around (x, y); a disc has very many."""
    if shape == "cross":
        a, b = r, 0.35 * r
        steps = [(-b, -a), (b, -a), (b, -b), (a, -b), (a, b), (b, b), (b, a), (-b, a), (-b, b)]
        return [(x + u, y + v) for u, v in [*steps, (-a, b), (-a, -b), (-b, -b)]]
    n, turn = {"disc": (60, 0.0), "square": (4, math.pi / 4), "triangle": (3, -math.pi / 2)}[shape]
    angles = [turn + 2 * math.pi * k / n for k in range(n)]
    return [(x + r * math.cos(a), y + r * math.sin(a)) for a in angles]


def draw(colour: str, shape: str, random: np.random.Generator) -> Image.Image:
    """One picture: place, size, shade and paper differ from one to the next."""
    paper = tuple(int(v) for v in 235 + random.integers(-15, 16, 3))
    ink = tuple(
        int(v) for v in np.clip(np.add(COLOURS[colour], random.integers(-25, 26, 3)), 0, 255)
    )
    picture = Image.new("RGB", (4 * SIDE, 4 * SIDE), paper)
    x, y = 2 * SIDE + random.uniform(-25, 25, 2)
    points = outline(shape, x, y, random.uniform(65, 95))
    ImageDraw.Draw(picture).polygon(points, fill=ink)
    return picture.resize((SIDE, SIDE))


def main(folder: Path = Path("drawn"), n: int = 20) -> None:
    random = np.random.default_rng(0)
    lines = []
    for colour in COLOURS:
        for shape, words in SHAPES.items():
            name = f"{colour} {shape}"
            lines.append([name, f"A {name}: the colour is {colour}, the form is {words}."])
            place = folder / "photos" / name
            place.mkdir(parents=True, exist_ok=True)
            for k in range(n):
                draw(colour, shape, random).save(place / f"{k:02d}.png")
    (folder / "new").mkdir(exist_ok=True)
    for k, name in enumerate(["green disc", "blue cross", "red triangle", "yellow square"]):
        colour, shape = name.split()
        draw(colour, shape, random).save(folder / "new" / f"{k}.png")
    with (folder / "words.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["name", "description"], *lines])
    print(f"{len(lines)} classes of {n} pictures each in {folder}")


if __name__ == "__main__":
    main()
