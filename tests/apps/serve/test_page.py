"""The page in a real browser, pane by pane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.apps.serve.conftest import expect, opened, served_to, shown, slide
from unseen import (
    ClassTable,
    GaussianMatch,
    ZeroShotDataset,
    load_digits_zero_shot,
    make_zero_shot,
)
from unseen.apps.serve.demo import demo
from unseen.apps.serve.encoders import Encoders, sentences_of
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Settings

pytestmark = pytest.mark.slow


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
    expect(page.locator("#nearest")).to_contain_text("blue plain star")
    expect(page.locator("#rivals")).to_contain_text("this description")
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
    for name, why in ((" ", "a name"), ("red plain star", '"red plain star" already')):
        page.fill("#keep-name", name)
        page.click("#keep button")
        assert why in page.inner_text("#error")
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
    expect(page.locator("#retrieved-title")).to_contain_text("odd one")


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
    assert "why=" in page.url
    page.reload()  # with its reasons
    page.wait_for_selector("#reasons table")
    x = shapes.X[9].astype(np.float64)
    page.click("#from-numbers summary")
    page.fill("#numbers", ", ".join(map(repr, x.tolist())))
    with page.expect_response("**/v1/predict"):
        page.click("#numbers-go")
    expect(page.locator("#recognised-title")).to_contain_text("Pasted")
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
        page.evaluate(script, ["#recognised-title", list(path.read_bytes())])  # beside it will do
    assert answer.value.status == 200
    expect(page.locator("#recognised-title")).to_contain_text("star.png")
    assert (
        page.eval_on_selector("#picture-shown", "x => x.decode().then(() => x.naturalWidth)") == 320
    )
    with page.expect_response("**/v1/predict"):  # encoded once, asked about again
        page.select_option("#candidates", "all")
    expect(page.locator("#bars .name").first).to_contain_text("red")
    with page.expect_response("**/v1/explain") as answer:
        page.locator("#bars button").first.click()
    assert answer.value.status == 200
    page.wait_for_selector("#reasons table")
    assert "why=" not in page.url  # a link would show it of the row


def test_a_sentence_sets_the_sliders(page: Any, shapes: ZeroShotDataset, gallery: GalleryData):
    table = ClassTable.of({name: f"a {name} on paper" for name in shapes.classes.names.tolist()})
    model = GaussianMatch().fit(*shapes.training_set(), table)
    encoders = Encoders(sentence=sentences_of(model)[0])
    with served_to(page, Current(Served(model, "said", gallery, encoders)), "pane=describe"):
        page.wait_for_selector("#described .cell")
        page.fill("#sentence", "a blue plain star")
        with page.expect_response("**/v1/rank"):
            page.keyboard.press("Enter")
        expect(page.locator("#nearest")).to_contain_text("blue plain star")
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
        assert page.locator("#sentence").bounding_box()["width"] > 300
        assert shown(page) == moved


def test_segments_of_a_display(page: Any, tmp_path: Path):
    """Switch on what makes a two, which is unseen, and twos come; drop a picture of one."""
    digits = load_digits_zero_shot()
    with served_to(page, demo("digits", Settings()), "pane=describe"):
        page.wait_for_selector("#described .cell")
        assert page.locator(".slider").count() == 7
        for name in ("top", "upper right", "middle"):
            page.locator(f"#display [aria-label='{name}']").click()
        page.focus("#display [aria-label='lower left']")
        page.keyboard.press("Space")
        slide(page, 3, 1)  # the bottom, by its slider
        expect(page.locator("#display [aria-checked=true]")).to_have_count(5)
        expect(page.locator("#nearest")).to_contain_text("two (unseen)")
        page.wait_for_timeout(300)
        assert (digits.y[shown(page)] == "two").mean() > 0.8
        assert digits.images is not None
        picture = Image.fromarray(np.uint8(255 - 15.9 * digits.images[shown(page)[0]]))
        picture.resize((200, 200)).save(tmp_path / "two.png")
        page.click("#tab-recognise")
        page.set_input_files("#picture", tmp_path / "two.png")
        expect(page.locator("#recognised-title")).to_contain_text("two.png")
        expect(page.locator("#bars .name").first).to_have_text("two")


def test_a_slider_moves_20000_rows_fast(page: Any):
    data = make_zero_shot(150, 50, 100, n_features=64, n_attributes=312, n_factors=30)
    model = GaussianMatch().fit(*data.training_set(), data.classes)
    served = Served(model, "large", GalleryData(data.X, data.y))
    times = []
    with served_to(page, Current(served), "pane=describe&from=class+003"):
        page.wait_for_selector("#described .cell")
        for step in range(12):
            slide(page, step, float(data.classes.vectors[:, step].max()))
            times.append(float(page.get_attribute("#took", "data-milliseconds")))
    assert np.median(times) < 500  # a machine under load; benchmarks/serve.py has the figure
