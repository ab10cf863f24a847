"""The demonstration: one page that needs nothing else, and whose numbers are those printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from tests.common.command import Outcome, assert_one_sentence, run_unseen
from tests.common.html import Page, assert_loads_nothing
from unseen import load_digits_zero_shot
from unseen.apps.report import demo, page
from unseen.datasets import digit_splits
from unseen.estimators import METHODS

SPLITS = demo.SPLITS


class Demo(NamedTuple):
    folder: Path
    outcome: Outcome
    result: demo.DemoResult
    text: str

    @property
    def page(self) -> Page:
        return Page(self.text)

    @property
    def printed(self) -> list[list[str]]:
        """The rows of the tables on standard output."""
        lines = [line for line in self.outcome.out.splitlines() if line.startswith("│")]
        return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The command, run once on half of the splits; the result that it works on is kept too."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    results = []
    run = demo.run_demo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "run_demo", lambda: results.append(run()) or results[0])
        patch.setattr(demo, "SPLITS", SPLITS[::2])
        outcome = run_unseen("demo", "--out", folder)
        assert (outcome.code, outcome.err) == (0, "")
        text = (folder / "index.html").read_text(encoding="utf-8")
        yield Demo(folder, outcome, results[0], text)


# -- the files ----------------------------------------------------------------------------------


def test_a_page_and_a_picture_are_written(shown: Demo) -> None:
    assert sorted(p.name for p in shown.folder.iterdir()) == [
        "figures",
        "index.html",
    ]
    height, width, _ = imread(shown.folder / "figures" / "retrieval.png").shape
    assert height > 100
    assert width > height
    assert str(shown.folder / "index.html") in shown.outcome.out


def test_the_page_is_whole(shown: Demo) -> None:
    tags = [tag for tag, _ in shown.page.tags]
    for tag in ("html", "head", "title", "body", "h1"):
        assert tags.count(tag) == 1, tag


def test_the_page_loads_nothing(shown: Demo) -> None:
    assert_loads_nothing(shown.text)


def test_the_same_result_gives_the_same_page(shown: Demo, tmp_path: Path) -> None:
    demo.write_demo(shown.result, tmp_path)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == shown.text


# -- the pictures -------------------------------------------------------------------------------


def test_pictures_are_the_best_fits_in_order(shown: Demo) -> None:
    digits, found = load_digits_zero_shot(), shown.result.found
    X, _ = digits.unseen_set()
    for name, returned in found.retrieved(5).items():
        scores = found.main.model.similarities(X, [name])[:, 0]
        best = digits.unseen_rows[np.argsort(-scores, kind="stable")[:5]].tolist()
        assert [r.row for r in returned] == best
        assert [r.right for r in returned] == (digits.y[best] == name).tolist()
        assert shown.result.hits[name] == sum(digits.y[best] == name)
        cells = [f"{r}" if digits.y[r] == name else f"{r} ✕ {digits.y[r]}" for r in best]
        assert [name, *cells] in shown.page.rows


# -- the numbers --------------------------------------------------------------------------------


def test_the_numbers_of_the_page_are_those_printed(shown: Demo) -> None:
    page_rows = shown.page.rows
    n_methods = len(demo.SHOWN)
    assert len(shown.printed) == n_methods + 3
    for row in shown.printed:
        assert row in page_rows


@pytest.mark.parametrize("method", demo.SHOWN)
def test_the_numbers_are_right(shown: Demo, method: str) -> None:
    digits = load_digits_zero_shot()
    X, y = digits.unseen_set()
    model = METHODS[method]().fit(*digits.training_set(), classes=digits.classes)
    accuracy = balanced_accuracy_score(y, model.predict(X))
    precisions = {
        name: average_precision_score(y == name, model.similarities(X, [name])[:, 0])
        for name in sorted(digits.unseen)
    }
    row = next(row for row in shown.printed if row[0] == method)
    mean = np.mean(list(precisions.values()))
    assert row[1:4] == [f"{100 * accuracy:.1f} %", "33.3 %", f"{100 * mean:.1f} %"]
    if method == shown.result.found.main.label:
        for name, precision in precisions.items():
            (line,) = [row for row in shown.printed if row[0] == name]
            assert line[3] == f"{100 * precision:.1f} %"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["eszsl", "conse"])
def test_the_mean_over_splits_is_right(shown: Demo, method: str) -> None:
    digits = load_digits_zero_shot()
    scores = []
    assert digit_splits()[::20] == SPLITS
    for triple in SPLITS[::2]:
        test = np.isin(digits.y, triple)
        model = METHODS[method]().fit(digits.X[~test], digits.y[~test], classes=digits.classes)
        scores.append(balanced_accuracy_score(digits.y[test], model.predict(digits.X[test])))
    row = next(row for row in shown.result.rows if row.method == method)
    assert len(scores) == 3
    assert row.mean_over_splits == pytest.approx(np.mean(scores))
    assert row.deviation_over_splits == pytest.approx(np.std(scores))


def test_json_holds_the_same_numbers(
    shown: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda: shown.result)
    found = run_unseen("demo", "--out", tmp_path, "--json").json
    assert found["unseen"] == ["five", "one", "two"]
    assert found["page"] == str(tmp_path / "index.html")
    for row, printed in zip(found["methods"], shown.printed, strict=False):
        assert printed[0] == row["method"]
        assert printed[1] == f"{100 * row['evaluation']['per_class_accuracy']:.1f} %"
    assert sum(found["hits among the first five"].values()) == sum(shown.result.hits.values())


def test_the_descriptions_are_those_of_a_display(shown: Demo) -> None:
    """Segments that are on, by the shape of the digits: 1 has two, 8 all seven, and so on."""
    lit = {row[0].removesuffix(" (unseen)"): row[1:].count("on") for row in shown.page.rows[1:11]}
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert lit == dict(zip(names, [6, 2, 5, 5, 4, 5, 6, 3, 7, 6], strict=True))


# -- what goes wrong ----------------------------------------------------------------------------


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run_unseen("demo", "--out", tmp_path / "out")
    assert_one_sentence(outcome, "needs matplotlib", "pip install 'unseen[report]'")
    assert list(tmp_path.iterdir()) == []


# -- parts of pages and figures -----------------------------------------------------------------


def test_names_in_a_page_cannot_become_tags() -> None:
    evil = "<script>alert('x')</script>\"><img src=x onerror=y>"
    body = "\n".join(
        [
            page.section(evil, page.paragraph(evil), page.paragraph(evil, note=True)),
            page.table([evil, evil], [[evil, evil]]),
            page.picture("data:image/png;base64,", "data:image/png;base64,", 99, evil, evil),
            page.contents([evil]),
            page.details(evil, page.code(evil)),
        ]
    )
    parsed = Page(page.page(evil, body))
    assert "script" not in {tag for tag, _ in parsed.tags}
    images = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert [image["alt"] for image in images] == [evil]
    assert not any("onerror" in image for image in images)
    assert parsed.rows == [[evil, evil], [evil, evil]]
