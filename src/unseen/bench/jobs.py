"""One piece of a benchmark: a method on a data set, once; and all that is needed to repeat it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy
import sklearn

import unseen
from unseen.bench.memory import with_peak
from unseen.bench.tuned import TUNING, tuned_parameters
from unseen.bench.variants import variants
from unseen.classes import ClassTable
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.errors import InputError, listed, nearest
from unseen.estimators import METHODS, method
from unseen.protocols import evaluate

ALL_VARIANTS = "variants"


class Job(NamedTuple):
    """A method on a data set, once.

    data, split : a data set and its division, "" for the one it opens with.
    method : a name of `METHODS`, or "variants" for the eight rows of the paper's table.
    trial : seed of the model, of the classes held out for tuning, and of random unseen classes.
    tuning : how parameters are chosen, a word of `TUNING`.
    generalized : let seen and unseen classes compete; rows of seen classes are kept for testing.
    random_classes : draw this many classes as unseen instead of those of the split; 0 for those.
    """

    data: str
    split: str
    method: str
    trial: int
    tuning: str
    generalized: bool
    random_classes: int

    @property
    def labels(self) -> list[str]:
        """The methods that the job gives a result for."""
        return list(variants()) if self.method == ALL_VARIANTS else [self.method]

    def key(self, label: str) -> str:
        """What names the result of one of its methods, in the log."""
        text = json.dumps([*self, label, unseen.__version__])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan(
    data: Sequence[str],
    methods: Sequence[str],
    *,
    split: str = "",
    trials: int = 3,
    tuning: str = "default",
    generalized: bool = False,
    random_classes: int = 0,
) -> list[Job]:
    """All jobs of a benchmark, in the order in which they are run."""
    known = [*METHODS, ALL_VARIANTS]
    for name in methods:
        if name not in known:
            raise InputError(
                f"no method {name!r}{nearest(name, known)}; there are {listed(known, len(known))}"
            )
    if tuning not in TUNING:
        raise InputError(f"tuning must be one of {listed(TUNING)}, not {tuning!r}")
    if trials < 1:
        raise InputError(f"trials must be at least 1, not {trials}")
    return [
        Job(name, split, kind, trial, tuning, generalized, random_classes)
        for name in data
        for trial in range(trials)
        for kind in methods
    ]


def opened(job: Job) -> ZeroShotDataset:
    """The data set of a job, divided as the job says.

    Without the generalised setting all rows of seen classes are for training, as in the paper.
    """
    data = open_dataset(job.data, job.split or None)
    if job.random_classes:
        data = data.with_unseen(_drawn(data, job.random_classes, job.trial))
    if job.generalized and not data.seen_test_rows.size:
        data = replace(data, test_rows=_every_fifth(data))
    if not job.generalized:
        data = replace(data, test_rows=np.empty(0, dtype=np.intp))
    data.unseen_set()
    return data


def _drawn(data: ZeroShotDataset, number: int, trial: int) -> np.ndarray:
    """Classes with rows, drawn at random to be unseen."""
    names = np.unique(data.y)
    if not 2 <= number <= names.size - 2:
        raise InputError(
            f"{number} random unseen classes cannot be drawn: {data.name} has rows of "
            f"{names.size} classes, of which at least 2 must stay on each side"
        )
    return np.random.default_rng(trial).choice(names, number, replace=False)


def _every_fifth(data: ZeroShotDataset) -> np.ndarray:
    """Every fifth row of each seen class, to be kept for testing."""
    rows = [np.flatnonzero(data.y == name)[4::5] for name in data.seen.tolist()]
    return np.concatenate(rows)


def run_job(job: Job, data: ZeroShotDataset | None = None) -> list[dict[str, Any]]:
    """The results of one job, ready for the log; nothing of the unseen rows is used in training."""
    data = opened(job) if data is None else data
    X, y = data.training_set()
    start = time.perf_counter()
    chosen = tuned_parameters(job.labels, job.tuning, X, y, data.classes, job.trial)
    seconds = time.perf_counter() - start
    return [
        _result(job, label, parameters, data, X, y, seconds / len(chosen))
        for label, parameters in chosen.items()
    ]


def _result(
    job: Job,
    label: str,
    parameters: dict[str, Any],
    data: ZeroShotDataset,
    X: np.ndarray,
    y: np.ndarray,
    tune_seconds: float,
) -> dict[str, Any]:
    kind = METHODS["jlse"] if label in variants() else method(label)
    fixed: dict[str, Any] = (
        {"random_state": job.trial} if "random_state" in kind().get_params() else {}
    )
    if not job.generalized and "calibration" in kind().get_params():
        fixed["calibration"] = None  # it plays no part where only unseen classes compete
    model = kind(**{**fixed, **parameters})
    start = time.perf_counter()
    _, memory = with_peak(lambda: model.fit(X, y, classes=data.classes))
    fit_seconds = time.perf_counter() - start
    found = evaluate(model, data)
    return {
        "key": job.key(label),
        "data": job.data,
        "method": label,
        **{k: v for k, v in job._asdict().items() if k not in ("data", "method")},
        "split": data.split if not job.random_classes else "random",
        "parameters": {**fixed, **parameters},
        "training_rows": int(y.size),
        **found.as_dict(),
        "fit_seconds": fit_seconds,
        "tune_seconds": tune_seconds,
        "peak_memory_mb": memory,
        "X_mb": X.nbytes / 2**20,
        **provenance(data),
    }


def provenance(data: ZeroShotDataset) -> dict[str, Any]:
    """Versions, machine, and checksums of the data: what a result depends on beside its seeds."""
    return {
        "versions": {
            "unseen": unseen.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "numba": numba.__version__,
        },
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "sources": dict(data.sources) or {"in memory": _digest(data.X, data.y, data.classes)},
        "notes": list(data.notes),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _digest(X: np.ndarray, y: np.ndarray, classes: ClassTable) -> str:
    digest = hashlib.sha256()
    parts: Iterable[Any] = (X, "\n".join(map(str, y.tolist())), classes.vectors)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return digest.hexdigest()
