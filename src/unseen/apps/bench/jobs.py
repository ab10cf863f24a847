"""One piece of a benchmark: a method on a data set, once; and all that is needed to repeat it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy
import sklearn

import unseen
from unseen.apps.bench.memory import with_peak
from unseen.apps.bench.tuned import TUNING, tuned_parameters
from unseen.apps.bench.variants import GROUPS, table_rows
from unseen.classes import ClassTable
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.errors import InputError, listed, nearest
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.evaluation.protocols import evaluate
from unseen.support.parts import built, changed_parameters, plain_parameters, without


class Job(NamedTuple):
    """A method on a data set, once.

    data, split : a data set and its division, "" for the one it opens with.
    method : a name of `METHODS`; "variants" for the eight rows of the paper's table; or
        "algorithm-3" for Algorithm 3 with both decisions.
    trial : seed of the model, of the classes held out for tuning, and of random unseen classes.
    tuning : how parameters are chosen, a word of `TUNING`.
    budget : seconds after which the search for them begins no fit; 0 for no limit.
    generalized : let seen and unseen classes compete; rows of seen classes are kept for testing.
    random_classes : draw this many classes as unseen instead of those of the split; 0 for those.
    """

    data: str
    split: str
    method: str
    trial: int
    tuning: str
    budget: float
    generalized: bool
    random_classes: int

    @property
    def labels(self) -> list[str]:
        """The methods that the job gives a result for."""
        return list(GROUPS.get(self.method, [self.method]))

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
    budget: float = 0,
    generalized: bool = False,
    random_classes: int = 0,
) -> list[Job]:
    """All jobs of a benchmark, in the order in which they are run."""
    known = [*METHODS, *GROUPS]
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
        Job(name, split, kind, trial, tuning, budget, generalized, random_classes)
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


def run_job(job: Job, checkpoint: Path | None = None) -> list[dict[str, Any]]:
    """The results of one job, ready for the log; nothing of the unseen rows is used in training.

    Methods of the job that differ only at test time share a fit, its time and its memory. Where
    seen and unseen classes compete, what seen ones lose is learned after the fit. The search for
    parameters keeps its state in `checkpoint`.
    """
    data = opened(job)
    X, y = data.training_set()
    budget = job.budget or None
    chosen, seconds = tuned_parameters(
        job.labels, job.tuning, X, y, data.classes, job.trial, budget, checkpoint
    )
    facts = {"training_rows": int(y.size), "X_mb": X.nbytes / 2**20, **provenance(data)}
    fits: dict[str, tuple[ZeroShotClassifier, dict[str, Any]]] = {}
    results = []
    for label, parameters in chosen.items():
        model = _model(job, label, parameters)
        key = _training_key(model)
        if key not in fits:
            fits[key] = model, _timed_fit(model, X, y, data.classes)
        fitted, cost = fits[key]
        fitted.set_params(**model.get_params(deep=False))
        if job.generalized:
            cost = cost | _timed_calibration(fitted, X, y, job.trial)
        found = evaluate(fitted, data).as_dict()
        about = {
            "key": job.key(label),
            **job._asdict(),
            "method": label,
            "split": _split(job, data),
        }
        given = {"parameters": changed_parameters(model), "tune_seconds": seconds / len(chosen)}
        results.append({**about, **given, **found, **cost, **facts})
    return results


def _model(job: Job, label: str, parameters: dict[str, Any]) -> ZeroShotClassifier:
    kind = METHODS["jlse"] if label in table_rows() else method(label)
    known = kind().get_params()
    fixed: dict[str, Any] = {"random_state": job.trial} if "random_state" in known else {}
    return built(kind, {**fixed, **parameters})


def _training_key(model: ZeroShotClassifier) -> str:
    """What tells one fit from another: all parameters but those of test time."""
    bound = without(plain_parameters(model), model.test_time_parameters)
    return json.dumps(bound, default=str)


def _timed_fit(model: ZeroShotClassifier, X: Any, y: Any, classes: ClassTable) -> dict[str, Any]:
    start = time.perf_counter()
    _, memory = with_peak(lambda: model.fit(X, y, classes=classes))
    return {"fit_seconds": time.perf_counter() - start, "peak_memory_mb": memory}


def _timed_calibration(
    model: ZeroShotClassifier, X: Any, y: Any, random_state: int
) -> dict[str, float]:
    """What seen classes lose depends on the scores, so each method that shares a fit learns it."""
    start = time.perf_counter()
    model.calibrate_seen(X, y, random_state)
    return {"calibrate_seconds": time.perf_counter() - start, "seen_penalty": model.seen_penalty_}


def _split(job: Job, data: ZeroShotDataset) -> str:
    return "random" if job.random_classes else data.split


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
        "sources": sources(data),
        "notes": list(data.notes),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def sources(data: ZeroShotDataset) -> dict[str, str]:
    """Checksums of the files of a data set, or of what it holds if it comes from none."""
    return dict(data.sources) or {"in memory": _digest(data.X, data.y, data.classes)}


def _digest(X: np.ndarray, y: np.ndarray, classes: ClassTable) -> str:
    digest = hashlib.sha256()
    parts: Iterable[Any] = (X, "\n".join(map(str, y.tolist())), classes.vectors)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return digest.hexdigest()
