"""Searches and benchmarks whose jobs are done by a Dask cluster."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import pytest

import unseen
from tests.common.command import run_unseen
from unseen import InputError, load_digits_zero_shot, tune
from unseen.apps.bench.jobs import Job, plan
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run
from unseen.distributed import cluster
from unseen.estimators.eszsl import ESZSL
from unseen.evaluation.tuning import Protocol
from unseen.support.work import listening

pytest.importorskip("distributed")
MEASURED = ("per_class_accuracy", "mean_average_precision", "by_class", "parameters")


def measured(log: Log, jobs: list[Job]) -> list[Any]:
    records = log.records(job.key(label) for job in jobs for label in job.labels)
    return [[record[name] for name in MEASURED] for record in records]


def test_a_search_on_a_cluster_finds_what_it_finds_here(client: Any) -> None:
    digits = load_digits_zero_shot()
    X, y = digits.training_set()
    grid = {"row_penalty": [1e-4, 1e-3, 1e-2], "class_penalty": [1e-2, 1.0]}
    how: Any = {"protocol": Protocol(2, 2, "grid")}
    here, steps = tune(ESZSL(), X[::3], y[::3], digits.classes, grid, **how), []
    with joblib.parallel_config("dask"), listening(steps.append):
        there = tune(ESZSL(), X[::3], y[::3], digits.classes, grid, **how)
    assert [t.scores for t in there.trials] == [t.scores for t in here.trials]
    assert there.best_parameters == here.best_parameters
    assert len([step for step in steps if "scores" in step]) == 12


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="a quarter of a minute: not on each push")
def test_a_benchmark_on_a_cluster_measures_what_it_measures_here(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = plan(["digits"], ["eszsl", "gfzsl"], 1, random_classes=3)
    jobs += plan(["digits"], ["eszsl", "sae"], 1, inside="all", most_rows=20)
    jobs += plan(["nosuch"], ["eszsl"], 1)
    logs = {name: Log(Path(name) / "results.jsonl") for name in ("here", "there")}
    failed = run(jobs, logs["here"])
    told = []
    with joblib.parallel_config("dask"):
        assert run(jobs, logs["there"], lambda job, number: told.append(number)) == failed
        assert told == list(range(5))
        assert measured(logs["there"], jobs[:-1]) == measured(logs["here"], jobs[:-1])
        told.clear()
        run(jobs, logs["there"], lambda job, number: told.append(number))
        assert told == [4], "only what failed is tried again"


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="a quarter of a minute: not on each push")
def test_the_command_line_names_a_cluster(client: Any, tmp_path: Path) -> None:
    address = client.scheduler.address
    search = ["tune", "digits", "-m", "eszsl", "--settings", "4", "--splits", "2", "--json"]
    here = run_unseen(*search).json
    there = run_unseen(*search, "--dask", address).json
    assert [t["scores"] for t in there["trials"]] == [t["scores"] for t in here["trials"]]
    bench = ["bench", "digits", "-m", "eszsl", "--trials", "2", "--random-classes", "3"]
    found = run_unseen(*bench, "--dask", "local", "--out", str(tmp_path / "run"), "--json")
    assert [r["trial"] for r in found.json["results"]] == [0, 1]


@contextmanager
def refused(address: str, match: str) -> Iterator[Any]:
    with pytest.raises(InputError, match=match) as found, cluster.on_cluster(address):
        pass
    yield found.value


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nosuch", "tcp://", ""])
def test_an_address_where_nobody_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    start = time.perf_counter()
    with refused(address, "no Dask scheduler answers at") as error:
        assert time.perf_counter() - start < 10
        assert "\n" not in str(error)
    # One that is left open is closed by the garbage collector, which can wait for itself for ever.
    assert "connecting" not in {made.status for made in _clients()}


def _clients() -> list[Any]:
    distributed: Any = pytest.importorskip("distributed")
    return [found for found in gc.get_objects() if isinstance(found, distributed.Client)]


def test_workers_of_another_version(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen, "__version__", "9.9")
    with refused(client.scheduler.address, r"run unseen '.*', and this is 9\.9"):
        pass


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed: Any = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    how: Any = {"n_workers": 0, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**how) as empty,
        refused(empty.scheduler_address, "has no workers"),
    ):
        pass
