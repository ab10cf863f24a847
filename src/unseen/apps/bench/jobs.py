"""One piece of a benchmark: a method on a data set, once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import unseen
from unseen.apps.bench.class_splits import capped, drawn
from unseen.apps.bench.paper import GROUPS
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.errors import InputError, listed, nearest
from unseen.estimators import METHODS, ZeroShotClassifier
from unseen.support.parameters import built

# How many fields a job had at first; further ones came in pairs.
_FIRST_FIELDS = 8


class Job(NamedTuple):
    """A method on a data set, once.

    data, split : a data set and its division, "" for the one it opens with.
    method : a name of `METHODS`; "variants" for the eight rows of the paper's table; or
        "algorithm-3" for Algorithm 3 with both decisions.
    trial : seed of the model, of the classes held out for tuning, and of random unseen classes.
    tuning : how parameters are chosen, "default", "holdout" or "paper".
    budget : seconds after which the search for them begins no fit; 0 for no limit.
    generalized : let seen and unseen classes compete; rows of seen classes are kept for testing.
    random_classes : draw this many classes as unseen instead of those of the split; 0 for those.
    inside : draw a fifth of the classes as unseen, "seen" among those that no split keeps as
        unseen, "all" among all; "" for the classes of the split.
    most_rows : rows of each class at most; 0 for no limit.
    text, missing : how the class table is read, as for `read_dataset`; "" for the usual way.
    """

    data: str
    split: str = ""
    method: str = "jlse"
    trial: int = 0
    tuning: str = "default"
    budget: float = 0
    generalized: bool = False
    random_classes: int = 0
    inside: str = ""
    most_rows: int = 0
    text: str = ""
    missing: str = ""

    @property
    def labels(self) -> list[str]:
        """The methods that the job gives a result for."""
        return list(GROUPS.get(self.method, [self.method]))

    def key(self, label: str) -> str:
        """What names the result of one of its methods, in the log."""
        # Fields that came later: without them a job has the key that older logs know it by.
        parts = list(self)
        while len(parts) > _FIRST_FIELDS and not any(parts[-2:]):
            del parts[-2:]
        return key_of([*parts, label])

    @property
    def table(self) -> dict[str, str]:
        """How the class table is read, where not in the usual way."""
        given = {"encoder": self.text, "missing": self.missing}
        return {option: value for option, value in given.items() if value}


def key_of(parts: Sequence[Any]) -> str:
    """What names a result of this version in the log."""
    text = json.dumps([*parts, unseen.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan(data: Sequence[str], methods: Sequence[str], trials: int = 3, **shared: Any) -> list[Job]:
    """All jobs of a benchmark, in the order in which they are run; `shared` are fields of `Job`."""
    known = [*METHODS, *GROUPS]
    for name in methods:
        if name not in known:
            raise InputError(
                f"no method {name!r}{nearest(name, known)}; there are {listed(known, len(known))}"
            )
    return [
        Job(name, method=kind, trial=trial, **shared)
        for name in data
        for trial in range(trials)
        for kind in methods
    ]


def opened(job: Job) -> ZeroShotDataset:
    """The data set of a job, divided as the job says.

    Without the generalised setting all rows of seen classes are for training, as in the paper.
    """
    data = open_dataset(job.data, job.split or None, **job.table)
    if job.random_classes:
        names = np.unique(data.y)
        if not 2 <= job.random_classes <= names.size - 2:
            raise InputError(
                f"{job.random_classes} random unseen classes cannot be drawn: {data.name} has rows "
                f"of {names.size} classes, of which at least 2 must stay on each side"
            )
        rng = np.random.default_rng(job.trial)
        data = data.with_unseen(rng.choice(names, job.random_classes, replace=False))
    if job.inside:
        data = drawn(data, job.inside, job.trial)
    if job.most_rows:
        data = capped(data, job.most_rows, job.trial)
    if not job.generalized:
        data = replace(data, test_rows=np.empty(0, dtype=np.intp))
    elif not data.seen_test_rows.size:
        fifths = [np.flatnonzero(data.y == name)[4::5] for name in data.seen.tolist()]
        data = replace(data, test_rows=np.concatenate(fifths))
    data.unseen_set()
    return data


def seeded(
    kind: type[ZeroShotClassifier], seed: int, parameters: dict[str, Any]
) -> ZeroShotClassifier:
    """A model with these parameters, and with the seed where its method takes one."""
    fixed = {"random_state": seed} if "random_state" in kind().get_params() else {}
    return built(kind, fixed | parameters)
