"""The demonstration as a service, and the pictures that it takes."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.apps.serve.conftest import asking
from tests.apps.serve.test_faults import png, refused
from unseen import load_digits_zero_shot
from unseen.apps.serve.demo import demo, digit_rows
from unseen.apps.serve.settings import Settings


@pytest.mark.parametrize("ink", [-15.9, 15.9])  # dark on light, light on dark
def test_pictures_of_digits_become_rows_like_those_of_the_data(ink: float):
    digits = load_digits_zero_shot()
    assert digits.images is not None
    rows = np.arange(0, len(digits.X), 30)
    drawn = [np.uint8(ink * digits.images[row] + (255 if ink < 0 else 0)) for row in rows]
    pictures = [Image.fromarray(one).resize((160, 160)) for one in drawn]
    made = digit_rows([png(picture) for picture in pictures])
    assert 0 <= made.min() <= made.max() <= 16
    near = [np.corrcoef(x, y)[0, 1] for x, y in zip(made, digits.X[rows], strict=True)]
    assert np.median(near) > 0.9
    # One with space around it is found all the same.
    wide = Image.new("L", (400, 300), 255 if ink < 0 else 0)
    wide.paste(pictures[0], (200, 30))
    assert np.corrcoef(digit_rows([png(wide)])[0], made[0])[0, 1] > 0.95


def test_the_demonstration_names_digits_and_refuses_what_shows_none():
    with asking(demo("digits", Settings())) as client:
        blank = {"pictures": ("p.png", png(Image.new("RGB", (40, 40), "white")))}
        refused(client.post("/v1/predict/pictures", files=blank), 400, "picture 0", "one shade")
        assert client.get("/v1/model").json()["gallery"]["rows"] == 1797
