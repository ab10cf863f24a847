"""`unseen report`: one page that holds all it shows, whose numbers are those of the models."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imsave

import unseen
from tests.common.birds import UNSEEN, make_folder, write_lines
from tests.common.command import Outcome, assert_one_sentence, run_unseen
from tests.common.html import Page, assert_loads_nothing
from unseen import ESZSL, make_zero_shot
from unseen.apps.report.measure import labels_of, measure, readable
from unseen.apps.report.model_page import SECTIONS, write_model_report
from unseen.apps.report.publish import row_picture

SMALL = ["--set", "n_target_atoms=6", "--set", "training__max_iter=4"]
BOTH = ("confusion", "latent-links", "objective-1", "precision-recall", "similarity", "tsne")


class Made(NamedTuple):
    data: Path
    models: tuple[Path, Path]
    out: Path
    outcome: Outcome
    text: str

    @property
    def page(self) -> Page:
        return Page(self.text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("report")
    data, out = make_folder(folder / "birds"), folder / "out"
    jlse, eszsl = folder / "a.unseen", folder / "b.unseen"
    assert run_unseen("fit", data, "-m", "jlse", *SMALL, "-o", jlse).code == 0
    assert run_unseen("fit", data, "-m", "eszsl", "-o", eszsl).code == 0
    outcome = run_unseen("report", jlse, data, "--against", eszsl, "--out", out)
    assert outcome.code == 0, outcome.err
    return Made(data, (jlse, eszsl), out, outcome, (out / "index.html").read_text("utf-8"))


def test_the_page_is_whole_and_loads_nothing(made: Made) -> None:
    tags = [tag for tag, _ in made.page.tags]
    for tag in ("html", "head", "title", "body", "h1"):
        assert tags.count(tag) == 1, tag
    assert_loads_nothing(made.text)
    anchors = {a["href"] for tag, a in made.page.tags if tag == "a"}
    assert anchors == {f"#{a['id']}" for tag, a in made.page.tags if tag == "h2"}
    for name in UNSEEN:
        assert name in "".join(made.page.text)


def test_figures_are_inlined_light_and_dark_and_written_as_files(made: Made) -> None:
    wanted = {f"{n}{d}.{k}" for n in BOTH for d in ("", "-dark") for k in ("png", "svg")}
    assert {p.name for p in (made.out / "figures").iterdir()} == wanted
    assert made.text.count("<figure>") == len(BOTH)
    assert made.text.count('media="(prefers-color-scheme: dark)"') == len(BOTH)
    images = [a for tag, a in made.page.tags if tag == "img"]
    assert all(a["alt"] and a["src"].startswith("data:image/svg+xml") for a in images)


def test_the_numbers_are_those_of_evaluate(made: Made) -> None:
    found = [run_unseen("evaluate", m, made.data, "--json").json for m in made.models]
    rows = made.page.rows
    for name, field in (
        ("per-class top-1 accuracy", "per_class_accuracy"),
        ("retrieval mAP", "mean_average_precision"),
    ):
        shown = next(row[1:] for row in rows if row[0] == name)
        expected = [f"{100 * f[field]:.1f} %" for f in found]
        assert [cell.partition(" (")[0] for cell in shown] == expected
    for k, name in enumerate(UNSEEN):
        by_name = [next(c for c in f["by_class"] if c["name"] == name) for f in found]
        shares = [f"{100 * c[m]:.1f} %" for c in by_name for m in ("accuracy", "average_precision")]
        assert [name, "7", *shares] in rows, k
    line = next(line for line in made.outcome.out.splitlines() if "per-class top-1" in line)
    assert f"{100 * found[0]['per_class_accuracy']:.1f} %" in line


def test_rows_without_pictures_are_a_table(made: Made) -> None:
    model = unseen.load(made.models[0])
    labels = np.repeat(UNSEEN, 7)
    X = np.load(made.data / "features.npy")[56:]
    for name in UNSEEN:
        best = model.rank(name, X, k=5).rows
        cells = [f"{56 + r}" + ("" if labels[r] == name else f" ✕ {labels[r]}") for r in best]
        assert [name, *cells] in made.page.rows


def test_it_can_be_repeated(made: Made) -> None:
    text = "".join(made.page.text)
    assert f"unseen report {made.models[0]} {made.data} --against {made.models[1]}" in text
    assert unseen.__version__ in text
    for model in made.models:
        assert hashlib.sha256(model.read_bytes()).hexdigest() in text
    usual = unseen.JLSE().n_target_atoms
    assert ["n_target_atoms", "6", f"default {usual}"] in made.page.rows


@pytest.mark.usefixtures("blank_figures")
def test_a_model_of_other_data_is_told(made: Made, tmp_path: Path) -> None:
    data = make_folder(tmp_path / "more birds")
    np.save(data / "features.npy", 2 * np.load(data / "features.npy"))
    args = ("report", made.models[1], data, "-o", tmp_path / "out", "--tsne-rows", 0, "--json")
    assert run_unseen(*args).code == 0
    text = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "was trained on other data than those of this page" in text
    assert "other data" not in made.text


def test_models_whose_columns_differ_in_order_are_refused(made: Made, tmp_path: Path) -> None:
    """Else one of them would be given the columns of the other."""
    data = make_folder(tmp_path / "birds")
    X = np.load(data / "features.npy")
    (data / "features.npy").unlink()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    models = []
    for k, columns in enumerate((frame.columns[::-1], frame.columns)):
        frame[columns].to_csv(data / "features.csv", index=False)
        models.append(tmp_path / f"{k}.unseen")
        assert run_unseen("fit", data, "-m", "eszsl", "-o", models[-1]).code == 0
    for one, other in (models, models[::-1], (models[0], made.models[1])):
        outcome = run_unseen("report", one, data, "--against", other, "-o", tmp_path / "out")
        assert_one_sentence(outcome, "another order", "report on one at a time")
    assert not (tmp_path / "out").exists()


def test_progress_is_on_standard_error(made: Made) -> None:
    steps = re.findall(r"(\d+) of (\d+): (.+)", made.outcome.err)
    assert [int(number) for number, *_ in steps] == list(range(1, len(steps) + 1))
    assert {int(total) for _, total, _ in steps} == {len(steps)}
    assert len(steps) == 4 + SECTIONS
    assert "t-SNE of 21 rows, JLSE" in made.outcome.err


@pytest.mark.usefixtures("blank_figures")
def test_json(made: Made, tmp_path: Path) -> None:
    args = ("report", made.models[1], made.data, "-o", tmp_path, "--tsne-rows", 0, "--json")
    outcome = run_unseen(*args)
    assert outcome.err == ""
    assert outcome.json["page"] == str(tmp_path / "index.html")
    assert set(outcome.json["results"]) == {"ESZSL"}
    assert not any("tsne" in file for file in outcome.json["files"])
    assert not any("latent" in file for file in outcome.json["files"]), "ESZSL has no latent links"


# -- pictures -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("blank_figures")
def test_the_gallery_shows_the_pictures_of_the_rows(made: Made, tmp_path: Path) -> None:
    data = shutil.copytree(made.data, tmp_path / "birds")
    for k in range(77):
        imsave(data / f"{k}.png", np.full((200, 100, 3), k / 77))
    (data / "60.png").write_bytes(b"not a picture")
    write_lines(data / "images.txt", [f"{k}.png" if k != 61 else "" for k in range(77)])
    out = tmp_path / "out"
    done = run_unseen(
        "report", made.models[0], data, "-o", out, "--tsne-rows", 0, "--top", 7,
        "--explain", UNSEEN[1], "--explain", UNSEEN[2],
    )  # fmt: skip
    assert done.code == 0, done.err
    text = (out / "index.html").read_text("utf-8")
    assert_loads_nothing(text)
    (gallery,) = [a for tag, a in Page(text).tags if a.get("alt") == "the best fits of each class"]
    assert gallery["src"].startswith("data:image/jpeg")
    birds = unseen.read_dataset(data)
    small = row_picture(birds, 70)
    assert small is not None
    assert small.shape == (128, 64, 3)
    assert small.mean() == pytest.approx(255 * 70 / 77, abs=1)
    assert row_picture(birds, 60) is row_picture(birds, 61) is None
    names = {p.name for p in (out / "figures").iterdir()}
    assert {"retrieval.png", "retrieval-dark.png", "latent-links.svg", "latent-links-2.svg"} < names


# -- from Python --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="twenty seconds: not on each push")
def test_seen_and_unseen_classes_and_many_classes(tmp_path: Path) -> None:
    data = make_zero_shot(8, 70, rows_per_class=6, n_features=12, n_attributes=6, n_factors=4)
    data = replace(data, test_rows=data.train_rows[::6])
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    found = measure({"ESZSL": model}, data, tsne_rows=0)
    assert (found.names.size, found.shown.size) == (70, 60)
    precision = [c.average_precision for c in found.main.evaluation.by_class]
    assert {int(np.argmax(precision)), int(np.argmin(precision))} <= set(found.shown.tolist())
    text = write_model_report(found, tmp_path).read_text("utf-8")
    assert_loads_nothing(text)
    assert "60 of 70 classes" in text
    assert (tmp_path / "figures" / "seen-unseen.png").exists()
    generalized = found.main.evaluation.generalized
    assert generalized is not None
    assert found.main.curve is not None
    assert found.main.curve.ausuc == pytest.approx(generalized.ausuc)
    assert f"{generalized.ausuc:.3f}" in text


def test_the_sample_is_even_and_confusions_are_counted() -> None:
    data = make_zero_shot(6, 4, rows_per_class=30, n_features=12, n_attributes=6, n_factors=4)
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    found = measure({"ESZSL": model}, data, tsne_rows=40)
    labels = found.y[found.sample]
    assert np.unique(labels, return_counts=True)[1].tolist() == [10] * 4
    assert found.points["ESZSL"].shape == (40, 2)
    true, named, rows, share = found.confusions()[0]
    predicted = model.predict(data.unseen_set()[0])
    assert rows == np.sum((found.y == true) & (predicted == named))
    assert share == pytest.approx(rows / 30)


def test_names_are_made_readable_where_they_stay_different() -> None:
    assert readable(["001.Tree_Swallow", "2"]) == {"001.Tree_Swallow": "Tree Swallow", "2": "2"}
    assert readable(["1.a", "2.a"]) == {"1.a": "1.a", "2.a": "2.a"}


def test_two_models_of_one_method_keep_their_files() -> None:
    labels = labels_of({"a": ESZSL(), "b": ESZSL()})
    assert labels == {"a": "ESZSL 1 (a)", "b": "ESZSL 2 (b)"}
    assert labels_of({"a": ESZSL()}) == {"a": "ESZSL"}


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[3] / "docs" / "report.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    (tmp_path / "example.py").write_text(code)
    runpy.run_path(str(tmp_path / "example.py"))
    assert (tmp_path / "confusion.png").stat().st_size > 1000


# -- results of a benchmark ---------------------------------------------------------------------


@pytest.mark.usefixtures("blank_figures", "jobs_here")
def test_a_run_has_its_tables_and_sweeps(made: Made, tmp_path: Path) -> None:
    run = tmp_path / "run"
    args: list[Any] = [made.data, "-m", "eszsl", "--trials", "2", "-o", run]
    assert run_unseen("bench", *args).code == 0
    swept = run_unseen("sweep", "row_penalty", *args, "--values", "0.1,1,10")
    assert swept.code == 0, swept.err
    before = (run / "results.jsonl").read_bytes()
    with (run / "results.jsonl").open("ab") as file:
        file.write(b'{"key": "half a li')
    done = run_unseen("report", run, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert (run / "results.jsonl").read_bytes().startswith(before)
    assert (run / "results.jsonl").read_bytes().endswith(b"half a li"), "the log is only read"
    text = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert_loads_nothing(text)
    records = [json.loads(line) for line in before.splitlines()]
    shares = [100 * r["per_class_accuracy"] for r in records if "parameter" not in r]
    row = next(row for row in Page(text).rows if row[0] == "ESZSL")
    assert row[1].startswith(f"{np.mean(shares):.1f}")
    figures = {p.name for p in (tmp_path / "out" / "figures").iterdir()}
    assert {"sweep-2-row_penalty.png", "sweep-2-row_penalty-dark.svg"} < figures


# -- what goes wrong ----------------------------------------------------------------------------


def test_without_matplotlib_the_extra_is_named(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run_unseen("report", made.models[1], made.data, "-o", tmp_path / "out")
    assert_one_sentence(outcome, "needs matplotlib", "pip install 'unseen[report]'")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["{model}"], ["name the data set", "unseen report"]),
        (["{model}", "digits"], ["64 feature columns", "trained on 12"]),
        (["{model}", "{data}", "--explain", "Terns"], ["no unseen class 'Terns'", "Arctic"]),
        (["{model}", "{data}", "--explain", "Ærfugl"], ["JLSE and KernelJLSE alone"]),
        (["{model}", "{data}", "--against", "{data}"], ["is a folder"]),
        (["{data}", "{data}"], ["is a folder of results", "give its file first"]),
        (["{data}"], ["holds no results.jsonl", "unseen bench"]),
        (["{empty}"], ["holds no results.jsonl"]),
        (["{empty}/nothing", "{data}"], ["does not exist"]),
        (["{model}", "{data}", "--out", "{model}"], ["is not a folder"]),
    ],
)  # fmt: skip
def test_errors(made: Made, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    place = {"model": made.models[1], "data": made.data, "empty": tmp_path}
    given = [a.format(**place) for a in arguments]
    if "--out" not in given:
        given += ["--out", str(tmp_path / "out")]
    outcome = run_unseen("report", *given, "--json")
    assert_one_sentence(outcome, *parts)
    assert not (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(
    ("content", "part"),
    [("", "0 bytes"), ("garbage\n", "line 1"), ('{"key": "a"}\n', "not of this version"),
     ('{"key": "a"', "no whole result")],
)  # fmt: skip
def test_broken_logs(tmp_path: Path, content: str, part: str) -> None:
    (tmp_path / "results.jsonl").write_text(content)
    assert_one_sentence(run_unseen("report", tmp_path, "-o", tmp_path / "out"), part)


# -- real birds ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="twenty seconds: not on each push")
def test_real_birds_with_their_pictures(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (data_folder / "CUB" / "thumbs").is_dir():
        pytest.skip("no pictures of CUB")
    monkeypatch.setenv("UNSEEN_DATA", str(data_folder))
    model = tmp_path / "birds.unseen"
    assert run_unseen("fit", "CUB efflite0", "-m", "eszsl", "-o", model).code == 0
    done = run_unseen("report", model, "CUB efflite0", "-o", tmp_path / "out", "--tsne-rows", 300)
    assert done.code == 0, done.err
    text = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert_loads_nothing(text)
    assert (tmp_path / "out" / "figures" / "retrieval.png").stat().st_size > 100_000
    assert "300 of the 2,967 rows of unseen classes" in text
