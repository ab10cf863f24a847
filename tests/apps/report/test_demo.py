"""The demonstration: one page that needs nothing else, and whose numbers are those printed."""

from __future__ import annotations

import re
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
from unseen.apps.report import demo, page
from unseen.datasets import make_shapes
from unseen.estimators import DEFAULT_METHOD, METHODS

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
    """The command, run once on two of the splits; the result that it works on is kept too."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    results = []
    run = demo.run_demo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "run_demo", lambda: results.append(run()) or results[0])
        patch.setattr(demo, "SPLITS", SPLITS[::10])
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
    shapes, found = make_shapes(), shown.result.found
    X, _ = shapes.unseen_set()
    assert found.main.label == DEFAULT_METHOD
    for name, returned in found.retrieved(5).items():
        scores = found.main.model.similarities(X, [name])[:, 0]
        best = shapes.unseen_rows[np.argsort(-scores, kind="stable")[:5]].tolist()
        assert [r.row for r in returned] == best
        assert [r.right for r in returned] == (shapes.y[best] == name).tolist()
        assert shown.result.hits[name] == sum(shapes.y[best] == name)


def test_the_figure_fits_on_the_page(shown: Demo) -> None:
    """A figure wider than the page, some 900 pixels, would have to be scrolled."""
    styles = [attributes.get("style") or "" for tag, attributes in shown.page.tags if tag == "img"]
    widths = [int(width) for style in styles for width in re.findall(r"min-width:(\d+)px", style)]
    assert len(styles) == 2
    assert max(widths) < 900


# -- the numbers --------------------------------------------------------------------------------


def test_the_numbers_of_the_page_are_those_printed(shown: Demo) -> None:
    page_rows = shown.page.rows
    assert len(shown.printed) == len(demo.SHOWN) + 12
    for row in shown.printed:
        assert row in page_rows


def test_the_most_accurate_method_comes_first(shown: Demo) -> None:
    rows = shown.printed[: len(demo.SHOWN)]
    assert {row[0] for row in rows} == set(demo.SHOWN)
    means = [float(row[1].split()[0]) for row in rows]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("method", ["gaussian-match", "eszsl"])
def test_the_means_are_right(shown: Demo, method: str) -> None:
    shapes = make_shapes()
    accuracies, precisions = [], []
    for unseen in SPLITS[::10]:
        test = np.isin(shapes.y, unseen)
        X, y = shapes.X[test], shapes.y[test]
        model = METHODS[method]().fit(shapes.X[~test], shapes.y[~test], classes=shapes.classes)
        accuracies.append(balanced_accuracy_score(y, model.predict(X)))
        of_classes = [
            average_precision_score(y == name, model.similarities(X, [name])[:, 0])
            for name in unseen
        ]
        precisions.append(np.mean(of_classes))
    row = next(row for row in shown.printed if row[0] == method)
    for cell, (one, other) in zip(row[1:3], (accuracies, precisions), strict=True):
        # Of two numbers the standard error is half of their difference.
        mean, error = 100 * (one + other) / 2, 100 * abs(one - other) / 2
        assert cell == f"{mean:.1f} % ± {error:.1f} %"


def test_json_holds_the_same_numbers(
    shown: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda: shown.result)
    found = run_unseen("demo", "--out", tmp_path, "--json").json
    assert found["unseen"] == sorted(SPLITS[0])
    assert found["page"] == str(tmp_path / "index.html")
    printed = {row[0]: row[1:3] for row in shown.printed}
    for row in found["methods"]:
        accuracy, precision = printed[row["method"]]
        assert accuracy.startswith(f"{100 * row['per_class_accuracy']:.1f} %")
        assert accuracy.endswith(f"± {100 * row['standard_error_of_accuracy']:.1f} %")
        assert precision.startswith(f"{100 * row['mean_average_precision']:.1f} %")
        assert precision.endswith(f"± {100 * row['standard_error_of_precision']:.1f} %")
    assert sum(found["hits among the first five"].values()) == sum(shown.result.hits.values())


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
