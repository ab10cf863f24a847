"""A job of a benchmark: its result is that of the library, and it can be repeated."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.birds import make_folder
from unseen import ESZSL, JLSE, InputError, evaluate, read_dataset
from unseen.apps.bench.jobs import Job, opened, plan
from unseen.apps.bench.paper import NUMERALS, PAIRWISE
from unseen.apps.bench.run import run_job
from unseen.support.parameters import built


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_folder(tmp_path_factory.mktemp("data") / "birds"))


def job(folder: str, method: str = "eszsl", **changes: Any) -> Job:
    return Job(folder, "", method, 0, "default", 0, False, 0)._replace(**changes)


def test_the_result_is_that_of_the_library(folder: str) -> None:
    (found,) = run_job(job(folder))
    data = read_dataset(folder)
    expected = evaluate(ESZSL().fit(*data.training_set(), classes=data.classes), data)
    assert found["per_class_accuracy"] == expected.per_class_accuracy
    assert found["mean_average_precision"] == expected.mean_average_precision
    assert [c["name"] for c in found["by_class"]] == [c.name for c in expected.by_class]


def test_a_trial_is_the_seed_of_the_model(folder: str) -> None:
    (found,) = run_job(job(folder, "jlse", trial=3))
    assert found["parameters"] == {"random_state": 3}
    assert run_job(job(folder, "jlse"))[0]["parameters"] == {}
    data = read_dataset(folder)
    model = JLSE(random_state=3).fit(*data.training_set(), classes=data.classes)
    assert found["per_class_accuracy"] == evaluate(model, data).per_class_accuracy


@pytest.fixture(scope="module")
def variants(folder: str) -> list[dict[str, Any]]:
    return run_job(job(folder, "variants"))


def test_the_variants_are_eight_results_of_one_job(
    folder: str, variants: list[dict[str, Any]]
) -> None:
    found = variants
    assert [r["method"] for r in found] == list(NUMERALS)
    assert len({r["key"] for r in found}) == 8
    assert [r["method"] for r in run_job(job(folder, "algorithm-3"))] == list(PAIRWISE)


def test_variants_that_share_a_fit_score_as_if_they_did_not(
    folder: str, variants: list[dict[str, Any]]
) -> None:
    data = read_dataset(folder)
    for result in variants:
        model = built(JLSE, result["parameters"])
        model.fit(*data.training_set(), classes=data.classes)
        assert result["per_class_accuracy"] == evaluate(model, data).per_class_accuracy


def test_a_result_says_how_to_repeat_it(folder: str) -> None:
    (found,) = run_job(job(folder))
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again["sources"]["features.npy"]
    assert len(again["sources"]["features.npy"]) == 64
    assert {"unseen", "numpy", "scipy", "scikit-learn"} <= again["versions"].keys()
    assert again["tuning"] == "default"
    assert again["peak_memory_mb"] is None or again["peak_memory_mb"] >= 0


def test_random_classes_differ_by_trial_and_repeat(folder: str) -> None:
    draws = [opened(job(folder, trial=t, random_classes=3)).unseen.tolist() for t in (0, 1, 0)]
    assert draws[0] == draws[2] != draws[1]
    assert all(len(names) == 3 for names in draws)


def test_the_generalised_setting_keeps_rows_of_seen_classes(folder: str) -> None:
    plain, general = opened(job(folder)), opened(job(folder, generalized=True))
    assert plain.seen_test_rows.size == 0
    assert general.seen_test_rows.size > 0
    assert np.array_equal(np.unique(general.y[general.seen_test_rows]), general.seen)


VARIANTS = [
    pytest.mark.slow,
    pytest.mark.skipif("CI" in os.environ, reason="eight fits: not on each push"),
]


@pytest.mark.parametrize("method", ["jlse", "eszsl", pytest.param("variants", marks=VARIANTS)])
def test_what_seen_classes_lose_is_learned_for_every_method(folder: str, method: str) -> None:
    data = opened(job(folder, generalized=True))
    X, y = data.training_set()
    for found in run_job(job(folder, method, generalized=True, trial=1)):
        kind = ESZSL if method == "eszsl" else JLSE
        model = built(kind, found["parameters"])
        model.fit(X, y, classes=data.classes).calibrate_seen(X, y, random_state=1)
        expected = evaluate(model, data).generalized
        assert expected is not None
        assert found["generalized"]["harmonic_mean"] == expected.harmonic_mean
        assert found["seen_penalty"] == model.seen_penalty_
        assert found["calibrate_seconds"] > 0
    assert "calibrate_seconds" not in run_job(job(folder))[0]


def test_keys_tell_jobs_apart(folder: str) -> None:
    one = job(folder)
    others = [
        one._replace(trial=1), one._replace(tuning="holdout"), one._replace(generalized=True),
        one._replace(random_classes=2), one._replace(data="x"), one._replace(split="y"),
    ]  # fmt: skip
    assert len({j.key("eszsl") for j in [one, *others]}) == 7
    assert one.key("eszsl") == job(folder).key("eszsl") != one.key("jlse")


def test_a_plan_has_every_job_once() -> None:
    jobs = plan(["a", "b"], ["eszsl", "variants"], trials=2)
    assert len(jobs) == len(set(jobs)) == 8


def test_a_plan_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="no method 'eszls'; nearest name: 'eszsl'"):
        plan(["digits"], ["eszls"])


def test_too_many_random_classes_are_refused(folder: str) -> None:
    with pytest.raises(InputError, match="at least 2 must stay on each side"):
        opened(job(folder, random_classes=50))


def test_data_without_unseen_rows_are_refused(folder: str, tmp_path: Path) -> None:
    other = make_folder(tmp_path / "seen")
    (other / "unseen.txt").unlink()
    with pytest.raises(InputError, match="no rows of unseen classes"):
        opened(job(str(other)))
