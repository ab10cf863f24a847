"""The page in a real browser: each pane, the keyboard, its address, and what it may not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.apps.serve.conftest import HOST, running
from unseen import ClassTable, GaussianMatch, ZeroShotDataset, load_digits_zero_shot, make_zero_shot
from unseen.apps.serve.demo import demo
from unseen.apps.serve.encoders import Encoders, sentences_of
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Settings

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
playwright: Any = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; CHROMIUM names another"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Any, port: int) -> Iterator[Any]:
    """An empty page; in the end nothing may have gone wrong on it, or have left this machine."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    made, wrong = context.new_page(), []
    made.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    own = (f"http://{HOST}:", "blob:", "data:")
    made.on("request", lambda r: None if r.url.startswith(own) else wrong.append(r.url))
    yield made
    context.close()
    assert not wrong


@pytest.fixture(scope="module")
def port(serve: Any) -> Iterator[int]:
    with running(serve()) as found:
        yield found


def opened(page: Any, port: int, state: str = "") -> Any:
    page.goto(f"http://{HOST}:{port}/{state and '#' + state}")
    page.wait_for_selector("body[data-ready]")
    return page


def shown(page: Any, grid: str = "#described") -> list[int]:
    rows = page.eval_on_selector_all(f"{grid} .cell", "cells => cells.map(c => c.dataset.row)")
    return [int(row) for row in rows]


def slide(page: Any, column: int, value: float) -> None:
    """Move a slider as a hand does, and wait for the answer."""
    with page.expect_response("**/v1/rank"):
        page.eval_on_selector(
            f"#attribute-{column}",
            "(s, v) => { s.value = v; s.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )
    page.wait_for_timeout(100)


def test_describe(page: Any, port: int, model: GaussianMatch, shapes: ZeroShotDataset):
    opened(page, port, "pane=describe&from=red+plain+star")
    page.wait_for_selector("#described .cell")
    words = list(shapes.classes.attributes or ())
    vector = shapes.classes.vector("red plain star").copy()

    def expected() -> list[int]:
        table = ClassTable(["described"], [vector], shapes.classes.attributes)
        return model.reveal(table).rank("described", shapes.X, 24).rows.tolist()

    assert shown(page) == expected()
    for word, value in (("red", 0.0), ("blue", 1.0)):
        slide(page, words.index(word), value)
        vector[words.index(word)] = value
    assert shown(page) == expected()
    playwright.expect(page.locator("#nearest")).to_contain_text("blue plain star")
    playwright.expect(page.locator("#rivals")).to_contain_text("this description")
    state = page.url
    assert "set=" in state
    page.reload()
    page.wait_for_selector("#described .cell")
    assert page.url == state
    page.wait_for_timeout(300)
    assert shown(page) == expected()
    page.fill("#search", "angle")
    labels = page.eval_on_selector_all(
        ".slider label", "all => all.filter(x => x.offsetParent).map(x => x.textContent)"
    )
    assert labels == ["triangle"]


def test_keep_as_class(page: Any, port: int, tmp_path: Path):
    opened(page, port, "pane=describe")
    page.fill("#keep-name", "odd one")
    with page.expect_download() as download:
        page.click("#keep button")
    saved = tmp_path / "odd.csv"
    download.value.save_as(saved)
    header, line = saved.read_text(encoding="utf-8").splitlines()
    assert header.startswith("name,red,")
    assert line.startswith("odd one,")
    page.reload()
    page.wait_for_selector("#kept li")
    page.click("#tab-recognise")
    page.select_option("#candidates", "all")
    page.wait_for_selector("#bars button")
    page.click("#tab-retrieve")
    with page.expect_response("**/v1/rank"):
        page.fill("#wanted", "odd one")
    playwright.expect(page.locator("#retrieved-title")).to_contain_text("odd one")


def test_retrieve(page: Any, port: int, model: GaussianMatch, shapes: ZeroShotDataset):
    opened(page, port, "pane=retrieve&class=red+plain+star")
    page.wait_for_selector("#retrieved .cell")
    rows = model.rank("red plain star", shapes.X, 48).rows
    assert shown(page, "#retrieved") == rows.tolist()
    wrong = (shapes.y[rows] != "red plain star").sum()
    assert page.locator("#retrieved .wrong.cell").count() == wrong
    assert f"{48 - wrong} of 48" in page.inner_text("#retrieved-title")
    page.locator("#retrieved .cell").nth(2).click()  # a row is recognised
    page.wait_for_selector("#bars button")
    assert f"row={rows[2]}" in page.url


def test_recognise(page: Any, port: int, model: GaussianMatch, shapes: ZeroShotDataset):
    opened(page, port, "pane=recognise&row=7&among=all")
    page.wait_for_selector("#bars button")
    best = model.predict(shapes.X[[7]], "all")[0]
    assert page.locator("#bars .name").first.inner_text() == best
    with page.expect_response("**/v1/explain"):
        page.locator("#bars button").first.click()
    page.wait_for_selector("#reasons table")
    x = shapes.X[9].astype(np.float64)
    page.fill("#numbers", ", ".join(map(repr, x.tolist())))
    with page.expect_response("**/v1/predict"):
        page.click("#numbers-go")
    playwright.expect(page.locator("#recognised-title")).to_contain_text("Pasted")
    assert page.locator("#bars .name").first.inner_text() == model.predict(x[None], "all")[0]


def test_a_picture_is_dropped(page: Any, port: int, shapes: ZeroShotDataset, tmp_path: Path):
    assert shapes.images is not None
    opened(page, port, "pane=recognise")
    page.wait_for_selector("#bars button")
    path = tmp_path / "star.png"
    row = int(np.flatnonzero(shapes.y == "red plain star")[0])
    Image.fromarray(np.uint8(shapes.images[row] * 255)).resize((320, 320)).save(path)
    script = """async ([drop, bytes]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "star.png", {type: "image/png"}));
        document.querySelector(drop).dispatchEvent(
            new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    }"""
    with page.expect_response("**/v1/predict/pictures*") as answer:
        page.evaluate(script, ["#drop", list(path.read_bytes())])
    assert answer.value.status == 200
    playwright.expect(page.locator("#recognised-title")).to_contain_text("star.png")
    assert (
        page.eval_on_selector("#picture-shown", "x => x.decode().then(() => x.naturalWidth)") == 320
    )
    with page.expect_response("**/v1/predict"):  # encoded once, asked about again
        page.select_option("#candidates", "all")
    playwright.expect(page.locator("#bars .name").first).to_contain_text("red")
    with page.expect_response("**/v1/explain") as answer:
        page.locator("#bars button").first.click()
    assert answer.value.status == 200
    page.wait_for_selector("#reasons table")


@pytest.mark.parametrize("pane", ["recognise", "retrieve", "describe"])
def test_long_names_fit_a_phone(browser: Any, shapes: ZeroShotDataset, pane: str):
    words = {
        name: f"{name.replace(' ', '_')}_of_the_far_north_west" for name in np.unique(shapes.y)
    }
    names = [words[name] for name in shapes.classes.names.tolist()]
    y = np.array([words[name] for name in shapes.y])
    table = ClassTable(names, shapes.classes.vectors, shapes.classes.attributes)
    seen = np.isin(shapes.y, shapes.unseen, invert=True)
    model = GaussianMatch().fit(shapes.X[seen], y[seen], table)
    with running(Current(Served(model, "long", GalleryData(shapes.X, y)))) as port:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        opened(page, port, f"pane={pane}")
        page.wait_for_timeout(500)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        page.close()
    assert wide <= 0


def test_no_pictures_without_an_encoder(browser: Any, model: GaussianMatch):
    with running(Current(Served(model, "plain"))) as port:
        page = browser.new_page()
        opened(page, port)
        assert "names no encoder" in page.inner_text("#drop-says")
        assert not page.is_visible("#picture")
        page.close()


def test_a_sentence_sets_the_sliders(browser: Any, shapes: ZeroShotDataset, gallery: GalleryData):
    table = ClassTable.of({name: f"a {name} on paper" for name in shapes.classes.names.tolist()})
    model = GaussianMatch().fit(*shapes.training_set(), table)
    encoders = Encoders(sentence=sentences_of(model)[0])
    with running(Current(Served(model, "said", gallery, encoders))) as port:
        page = browser.new_page()
        opened(page, port, "pane=describe")
        page.wait_for_selector("#described .cell")
        page.fill("#sentence", "a blue plain star")
        with page.expect_response("**/v1/rank"):
            page.keyboard.press("Enter")
        playwright.expect(page.locator("#nearest")).to_contain_text("blue plain star")
        said = table.encode({"described": "a blue plain star"})
        expected = model.reveal(said).rank("described", shapes.X, 24).rows.tolist()
        assert shown(page) == expected
        slide(page, list(table.attributes or ()).index("red"), 0.4)
        page.wait_for_timeout(400)
        moved, state = shown(page), page.url
        assert moved != expected
        page.reload()
        page.wait_for_timeout(800)
        assert page.url == state
        assert shown(page) == moved
        page.close()


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
    page.keyboard.press("1")
    assert page.is_visible("#recognise")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#retrieve")


def test_segments_of_a_display(browser: Any):
    """Switch on what makes a seven, and sevens come."""
    with running(demo("digits", Settings())) as port:
        page = browser.new_page()
        opened(page, port, "pane=describe")
        page.wait_for_selector("#described .cell")
        assert page.locator(".slider").count() == 7
        for column in (0, 1, 2):
            slide(page, column, 1)
        page.wait_for_timeout(300)
        labels = load_digits_zero_shot().y[shown(page)]
        page.close()
    assert (labels == "seven").mean() > 0.8


def test_a_slider_moves_20000_rows_fast(browser: Any):
    data = make_zero_shot(150, 50, 100, n_features=64, n_attributes=312, n_factors=30)
    model = GaussianMatch().fit(*data.training_set(), data.classes)
    served = Served(model, "large", GalleryData(data.X, data.y))
    times = []
    with running(Current(served)) as port:
        page = browser.new_page()
        opened(page, port, "pane=describe&from=class+003")
        page.wait_for_selector("#described .cell")
        for step in range(12):
            slide(page, step, float(data.classes.vectors[:, step].max()))
            times.append(float(page.get_attribute("#took", "data-milliseconds")))
        page.close()
    assert np.median(times) < 500  # a machine under load; benchmarks/serve.py has the figure
