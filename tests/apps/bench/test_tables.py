"""Tables of a benchmark: means, deviations, and the paper's numbers beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.apps.bench import paper, tables
from unseen.apps.bench.paper import LABELS, described, table_rows
from unseen.estimators import JLSE
from unseen.inference.scorer import DataFit
from unseen.support.parameters import built, changed_parameters


def record(data: str, method: str, trial: int, accuracy: float, **more: Any) -> dict[str, Any]:
    return {
        "data": data, "method": method, "trial": trial, "tuning": "default", "split": "proposed",
        "per_class_accuracy": accuracy, "mean_average_precision": accuracy / 2,
        "relative_mean_average_precision": accuracy / 3,
        "generalized": None, "by_class": [{"name": f"c{k}"} for k in range(20)],
        "tune_seconds": 0.0, "fit_seconds": 2.0, "seconds": 0.1, "peak_memory_mb": 10.0,
        "X_mb": 4.0, **more,
    }  # fmt: skip


def cells(table: tables.Table, first: str) -> tuple[str, ...]:
    return next(tuple(row) for row in table.rows if row[0].startswith(first))


# The averages that stand in the paper's own tables; for (ii) it prints 0.02 more than the mean.
@pytest.mark.parametrize(
    ("table", "method", "average"),
    [
        ("RECOGNITION", "sse-int", 57.01), ("RECOGNITION", "sse-relu", 58.87),
        ("RECOGNITION", "(i)", 58.81), ("RECOGNITION", "(ii)", 60.20),
        ("RECOGNITION", "(iii)", 60.46), ("RECOGNITION", "(iv)", 61.73),
        ("RECOGNITION", "(v)", 59.91), ("RECOGNITION", "(vi)", 61.09),
        ("RECOGNITION", "(vii)", 62.51), ("RECOGNITION", "(viii)", 63.77),
        ("RETRIEVAL", "sse-int", 31.33), ("RETRIEVAL", "sse-relu", 26.24),
        ("RETRIEVAL", "(viii)", 53.78),
    ],
)  # fmt: skip
def test_the_papers_numbers_have_the_papers_averages(
    table: str, method: str, average: float
) -> None:
    means = [numbers[0] for numbers in getattr(paper, table)[method]]
    assert np.mean(means) == pytest.approx(average, abs=0.025)


def test_the_papers_classes_of_awa_have_its_mean() -> None:
    assert np.mean(list(paper.AWA_BY_CLASS.values())) == pytest.approx(67.66, abs=0.01)


def test_mean_and_deviation_over_trials() -> None:
    records = [record("CUB vgg_fc7", "eszsl", t, a) for t, a in enumerate((0.5, 0.52, 0.54))]
    table = tables.all_tables(records)[0]
    assert cells(table, "ESZSL")[1] == "52.0 ± 2.0"


@pytest.mark.parametrize(
    ("shares", "cell"),
    [
        ([0.5, 0.5], "50.0"),
        ([0.5, 0.5 + 1e-15], "50.0"),
        ([0.5, 0.5004], "50.0 ± 0.03"),
        ([0.5, 0.52], "51.0 ± 1.4"),
    ],
)
def test_no_deviation_is_shown_as_none(shares: list[float], cell: str) -> None:
    assert tables.spread(shares) == cell


def test_the_paper_stands_beside_what_was_run() -> None:
    records = [record("CUB vgg_fc7", "(viii)", 0, 0.5), record("digits", "(viii)", 0, 0.3)]
    table = tables.all_tables(records)[0]
    assert table.columns == ["method", "CUB vgg_fc7", "digits", "average", "paper: CUB"]
    assert cells(table, "JLSE (viii)")[1:] == ("50.0", "30.0", "40.0", "41.8 ± 0.5")
    assert len(table.rows) == 1


def test_the_paper_is_left_out_where_it_has_no_number() -> None:
    table = tables.all_tables([record("CUB", "costa", 0, 0.5)])[0]
    assert table.columns == ["method", "CUB"]
    assert not any("VGG-19" in note for note in table.notes)


def test_trials_that_differ_have_the_mean_interval_unless_classes_were_drawn_anew() -> None:
    intervals = [{"low": 0.4, "high": 0.6}, {"low": 0.42, "high": 0.64}]
    both = [record("a", "jlse", t, 0.5 + t / 50, per_class_interval=intervals[t]) for t in (0, 1)]
    table = tables.all_tables(both)[0]
    assert cells(table, "JLSE")[1] == "51.0 ± 1.4 (41.0 to 62.0)"
    anew = [r | {"random_classes": 3} for r in both]
    assert cells(tables.all_tables(anew)[0], "JLSE")[1] == "51.0 ± 1.4"


def test_rows_that_only_the_generalised_setting_keeps_for_testing_are_told() -> None:
    found = dict.fromkeys(("seen", "unseen", "harmonic_mean", "ausuc"), 0.5)
    table = tables.all_tables([record("a", "eszsl", 0, 0.5, generalized=found)])[0]
    assert any("every fifth, which 'unseen fit' trains on" in note for note in table.notes)


def test_one_trial_has_the_interval_over_classes_and_rows() -> None:
    interval = {"low": 0.41, "high": 0.62}
    records = [record("a", "eszsl", t, 0.5, per_class_interval=interval) for t in range(2)]
    table = tables.all_tables(records)[0]
    assert cells(table, "ESZSL")[1] == "50.0 (41.0 to 62.0)"
    assert "bootstrap" in table.notes[-1]


def test_an_average_over_data_sets_needs_all_of_them() -> None:
    records = [
        record("a", "eszsl", 0, 0.5),
        record("a", "jlse", 0, 0.6),
        record("b", "jlse", 0, 0.2),
    ]
    table = tables.all_tables(records)[0]
    assert cells(table, "ESZSL")[-1] == "-"
    assert cells(table, "JLSE")[-1] == "40.0"


def test_few_classes_get_a_table_of_their_own() -> None:
    classes = [{"name": "seal", "average_precision": 0.25}, {"name": "x", "average_precision": 0.5}]
    records = [record("AWA1", "jlse", t, 0.4, by_class=classes) for t in range(2)]
    table = next(t for t in tables.all_tables(records) if "each unseen class" in t.title)
    assert table.rows == [["seal", "25.0", "28.2"], ["x", "50.0", "-"]]


def test_generalised_results_have_a_table() -> None:
    found = {"seen": 0.5, "unseen": 0.4, "harmonic_mean": 0.44, "ausuc": 0.3}
    made = tables.all_tables([record("a", "eszsl", 0, 0.5, generalized=found)])
    table = next(t for t in made if t.title.startswith("Generalised"))
    assert table.rows == [["a, ESZSL", "50.0", "40.0", "44.0", "30.0"]]
    assert "learned from training rows alone" in table.notes[0]
    sure = found | {"harmonic_interval": {"low": 0.41, "high": 0.5}}
    made = tables.all_tables([record("a", "eszsl", 0, 0.5, generalized=sure)])
    table = next(t for t in made if t.title.startswith("Generalised"))
    assert table.rows == [["a, ESZSL", "50.0", "40.0", "44.0 (41.0 to 50.0)", "30.0"]]
    assert "bootstrap" in table.notes[-1]


def test_the_time_of_calibration_stands_apart() -> None:
    made = tables.all_tables([record("a", "eszsl", 0, 0.5, calibrate_seconds=7.0)])
    assert made[-1].columns[3:6] == ["tune s", "fit s", "calibrate s"]
    assert made[-1].rows[0][3:6] == ["0.0", "2.0", "7.0"]


def test_markdown_and_html_hold_every_cell_and_the_command(tmp_path: Path) -> None:
    made = tables.all_tables([record("a|b", "eszsl", 0, 0.5)])
    tables.write_tables(tmp_path, made, "unseen bench <x>")
    text, web = ((tmp_path / f"tables.{kind}").read_text("utf-8") for kind in ("md", "html"))
    assert "`unseen bench <x>`" in text
    assert "a\\|b" in text
    assert "unseen bench &lt;x&gt;" in web
    assert text.count("50.0") == web.count("50.0") == 2


def test_no_results_no_tables() -> None:
    assert tables.all_tables([]) == []


def test_the_variants_are_those_of_the_paper() -> None:
    assert described("(i)") == "(i) init. + init. + decision 1"
    assert described("(iv)") == "(iv) init. + Alg. 4 + decision 2"
    assert described("(vii)") == "(vii) Alg. 2 + Alg. 4 + decision 1"
    assert len({tuple(v.items()) for v in table_rows().values()}) == 10
    assert changed_parameters(built(JLSE, table_rows()["(viii)"])) == {}, "the method itself"
    assert isinstance(built(JLSE, table_rows()["(i)"]).testing, DataFit)


def test_one_table_tells_what_a_method_reaches_and_what_it_costs() -> None:
    records = [record("a", "ale", t, a, fit_seconds=s) for t, a, s in ((0, 0.5, 2), (1, 0.6, 4))]
    table = tables.all_tables(records)[-1]
    assert table.columns[1:] == [
        "top-1 %", "mAP %", "tune s", "fit s", "predict s", "peak MB above X", "X MB"
    ]  # fmt: skip
    assert table.rows == [["a, ALE", "55.0", "27.5", "0.0", "3.0", "0.10", "10", "4"]]


def test_algorithm_3_stands_after_the_variants() -> None:
    assert list(table_rows()) == list(LABELS)
    assert [described(label) for label in LABELS[8:]] == [
        "Alg. 2 + Alg. 3 + decision 1", "Alg. 2 + Alg. 3 + decision 2",
    ]  # fmt: skip
    records = [record("digits", label, 0, 0.5) for label in ("Alg. 3 (2)", "(i)", "eszsl")]
    rows = [row[0] for row in tables.all_tables(records)[0].rows]
    assert rows[:3] == [
        "ESZSL", "JLSE (i) init. + init. + decision 1", "JLSE Alg. 2 + Alg. 3 + decision 2",
    ]  # fmt: skip
