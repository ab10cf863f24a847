"""The page in a real browser: keyboard, phone, dark and light, and models of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.apps.serve.conftest import PHONE, expect, opened, served_to, shown
from unseen import (
    JLSE,
    ClassTable,
    GaussianMatch,
    ZeroShotDataset,
)
from unseen.apps.serve.served import Current, GalleryData, Served

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pane", ["recognise", "retrieve", "describe"])
def test_long_names_fit_a_phone(pages: Any, shapes: ZeroShotDataset, pane: str):
    words = {
        name: f"{name.replace(' ', '_')}_of_the_far_north_west" for name in np.unique(shapes.y)
    }
    names = [words[name] for name in shapes.classes.names.tolist()]
    y = np.array([words[name] for name in shapes.y])
    table = ClassTable(names, shapes.classes.vectors, shapes.classes.attributes)
    seen = np.isin(shapes.y, shapes.unseen, invert=True)
    model = GaussianMatch().fit(shapes.X[seen], y[seen], table)
    page, current = pages(PHONE), Current(Served(model, "long", GalleryData(shapes.X, y)))
    with served_to(page, current, f"pane={pane}"):
        page.wait_for_selector(f"#{pane} .results button")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_model_alone(page: Any, model: GaussianMatch, shapes: ZeroShotDataset):
    """Without a gallery and an encoder: numbers are named, a description becomes a candidate."""
    with served_to(page, Current(Served(model, "plain"))):
        assert "names no encoder" in page.inner_text("#drop-says")
        page.keyboard.press("/")  # to the first field that there is
        assert page.evaluate("document.activeElement.id") == "numbers"
        page.focus("#tab-recognise")
        assert not page.is_visible("#picture")
        assert page.is_disabled("#tab-retrieve")
        page.keyboard.press("2")  # neither by its key
        page.focus("#tab-recognise")
        page.keyboard.press("ArrowRight")  # nor by the arrows
        assert page.is_visible("#describe")
        assert "--data" in page.inner_text("#took")
        page.select_option("#start", "red plain star")
        page.fill("#keep-name", "mine")
        with page.expect_download():
            page.keyboard.press("Enter")
        page.click("#tab-recognise")
        page.fill("#numbers", " ".join(map(repr, shapes.X[0].astype(float).tolist())))
        page.click("#numbers-go")
        expect(page.locator("#bars .badge.yours")).to_have_count(1)


def test_classes_that_are_numbers(page: Any, shapes: ZeroShotDataset):
    number = {name: k for k, name in enumerate(shapes.classes.names.tolist())}
    y = np.array([number[name] for name in shapes.y])
    table = ClassTable(range(len(number)), shapes.classes.vectors, shapes.classes.attributes)
    seen = np.isin(shapes.y, shapes.unseen, invert=True)
    model = GaussianMatch().fit(shapes.X[seen], y[seen], table)
    with served_to(
        page, Current(Served(model, "numbers", GalleryData(shapes.X, y))), "pane=describe&from=3"
    ):
        expect(page.locator("#rivals .own")).to_contain_text("of 24")
        page.fill("#keep-name", "mine")
        with page.expect_download():
            page.keyboard.press("Enter")
        page.locator("#described .cell").first.click()
        page.select_option("#candidates", "all")
        expect(page.locator("#bars .badge.label")).to_have_count(1)
        expect(page.locator("#bars .badge.yours")).to_have_count(1)
        expect(page.locator("#bars .badge.seen").first).to_be_visible()
        assert not page.is_visible("#error")


def test_pairs_without_names_are_searched_by_description(page: Any, shapes: ZeroShotDataset):
    S, X = shapes.classes.vectors, shapes.X[::5]
    Y = np.where(shapes.y[::5, None] == shapes.classes.names, 1, -1)
    model = JLSE().fit_pairs(S, X, Y)
    with served_to(page, Current(Served(model, "pairs", GalleryData(X))), "pane=recognise"):
        assert page.is_disabled("#tab-recognise")
        page.wait_for_selector("#described .cell")
        assert not page.is_visible("#rivals-title")
        page.locator("#described .cell").first.click()
        assert page.is_visible("#describe")


def test_the_keyboard_is_enough(page: Any, port: int):
    opened(page, port, "pane=describe")
    page.wait_for_selector("#described .cell")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    before = shown(page)
    with page.expect_response("**/v1/rank"):
        page.keyboard.press("End")  # a slider to its right end
    page.wait_for_timeout(200)
    assert shown(page) != before
    for key, value in (("Space", "0"), ("Space", "1"), ("Backspace", "0")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.value") == value
    page.keyboard.press("g")
    place = "[...document.activeElement.parentNode.children].indexOf(document.activeElement)"
    columns = page.evaluate(
        "getComputedStyle(document.querySelector('#described')).gridTemplateColumns.split(' ')"
    )
    for key, expected in (("Right", 1), ("Down", 1 + len(columns)), ("Up", 1), ("Left", 0)):
        page.keyboard.press(f"Arrow{key}")
        assert page.evaluate(place) == expected
    page.keyboard.press("1")
    assert page.is_visible("#recognise")
    page.wait_for_selector("#bars button")
    page.keyboard.press("g")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # the reasons of the second candidate
    page.wait_for_selector("#reasons table")
    assert page.get_attribute("#bars li:nth-child(2) button", "aria-pressed") == "true"
    page.focus("#tab-recognise")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#retrieve")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "wanted"
    page.focus("#skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert "pane=retrieve" in page.url


def test_a_link_to_another_state_is_followed(page: Any, port: int):
    opened(page, port, "pane=describe&find=angle")
    assert page.locator(".slider:visible").count() == 1
    page.evaluate("location.hash = 'pane=retrieve&class=blue+plain+star'")
    page.wait_for_selector("#retrieved .cell")
    assert "blue plain star" in page.inner_text("#retrieved-title")
    page.fill("#wanted", "blue plain sta")
    page.keyboard.press("Tab")
    assert 'no class "blue plain sta"' in page.inner_text("#error")
    assert page.locator("#retrieved .cell").count() == 0


@pytest.mark.parametrize("state", ["kept=%25zz%3D1", "pane=recognise&among=some&row=x"])
def test_a_damaged_link_shows_what_is_left_of_it(page: Any, port: int, state: str):
    opened(page, port, state)
    page.wait_for_selector(".results button:visible")
    assert not page.is_visible("#error")
    assert page.input_value("#candidates") == "unseen"


def test_what_is_wrong_leaves_no_candidates_and_is_said_in_sight(pages: Any, port: int):
    page = opened(pages(PHONE), port, "pane=recognise&row=3")
    page.wait_for_selector("#bars button")
    page.click("#from-numbers summary")
    page.fill("#numbers", "1 2 3")
    page.click("#numbers-go")
    page.evaluate("scrollTo(0, 500)")
    expect(page.locator("#error")).to_be_in_viewport()
    assert "paste 192 numbers" in page.inner_text("#error")
    assert page.locator("#bars button").count() == 0
    page.fill("#numbers", "1 " * 191 + "1O")
    page.click("#numbers-go")
    assert '"1O" is none' in page.inner_text("#error")


def test_what_is_not_found_is_said(page: Any, port: int):
    opened(page, port, "pane=describe&find=feather")
    assert page.is_visible("#none-found")
    page.fill("#search", "star")
    assert not page.is_visible("#none-found")
    page.click("#tab-retrieve")
    page.fill("#wanted", "star, plain Red")
    page.press("#wanted", "Tab")
    assert "like it: red plain star" in page.inner_text("#error")


def test_numbers_of_reasons_stay_whole(page: Any, port: int):
    opened(page, port, "pane=recognise&row=3")
    page.click("#bars button")
    page.wait_for_selector("#reasons td")
    cells = page.locator("#reasons td").all_text_contents()
    assert any(cell.startswith("+") for cell in cells)
    assert not any("\u200b" in cell for cell in cells if cell.startswith("+"))


# The lowest contrast of a text with what is behind it, by the formula of WCAG 2, and its element.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => colour.map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
  let worst = [99, ""];
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.checkVisibility() || one.matches(":disabled, option")) continue;
    const behind = [];
    for (let at = one; at; at = at.parentElement) {
      behind.unshift(getComputedStyle(at).backgroundColor);
    }
    const ground = light(rgb(behind)), ink = light(rgb([...behind, getComputedStyle(one).color]));
    const contrast = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    if (contrast < worst[0]) worst = [contrast, one.outerHTML.slice(0, 80)];
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_in_both_schemes(pages: Any, port: int, scheme: str):
    page = pages(color_scheme=scheme)
    grounds = set()
    for pane in ("recognise", "retrieve", "describe"):
        page.goto("about:blank")
        opened(page, port, f"pane={pane}&class=red+plain+star&row=3")
        page.wait_for_selector(f"#{pane} .results button")
        if pane == "recognise":
            page.click("#bars button")
            page.wait_for_selector("#reasons table")
        contrast, where = page.evaluate(CONTRAST)
        assert contrast >= 4.5, where
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == {"rgb(251, 250, 248)" if scheme == "light" else "rgb(21, 23, 26)"}


def test_right_and_wrong_differ_by_more_than_colour(page: Any, port: int):
    opened(page, port, "pane=retrieve&class=red+plain+star")
    page.wait_for_selector("#retrieved .wrong.cell")
    looks = [
        page.eval_on_selector(
            f"#retrieved .{kind}.cell",
            "c => [getComputedStyle(c).borderStyle, c.querySelector('.mark').textContent]",
        )
        for kind in ("right", "wrong")
    ]
    assert looks == [["solid", "✓"], ["double", "✕"]]
    assert "of another class" in page.get_attribute("#retrieved .wrong.cell", "aria-label")
