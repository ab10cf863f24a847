"""A suite: many data sets, each divided by class many times, so that none of them decides alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unseen.apps.bench.class_splits import n_divisions
from unseen.apps.bench.jobs import Job, plan
from unseen.datasets import ZeroShotDataset, open_dataset
from unseen.datasets.catalogue import entries, has_features

# One method of each kind, of those whose fits take seconds on most data sets: the library's own
# three, least squares to descriptions (ESZSL), an autoencoder (SAE), a ranking loss (DeViSE),
# classifiers put together from seen ones (COSTA), histograms of seen classes (SSE-INT). Others of
# the same kinds, such as ALE and SJE beside DeViSE, would crowd the ranks.
QUICK = ("gaussian-match", "kernel-jlse", "jlse", "eszsl", "sae", "devise", "costa", "sse-int")


def at_hand() -> list[str]:
    """The published data sets that are on this machine, and the digits, which always are."""
    return [*(entry.name for entry in entries() if has_features(entry)), "digits"]


def plan_suite(
    data: Sequence[str],
    methods: Sequence[str],
    splits: int = 10,
    inside: str = "seen",
    published: bool = False,
    **shared: Any,
) -> list[Job]:
    """All jobs of a suite; `shared` are fields of `Job`.

    The first split of every data set comes first, so that a run that was stopped has something of
    all of them, and the published splits come last. Where there are fewer divisions than `splits`,
    each is taken once.
    """
    plan([], methods)
    jobs: list[Job] = []
    for name in data:
        opened = open_dataset(name, **Job(name, **shared).table)
        n_splits = min(splits, n_divisions(opened, inside))
        jobs += plan([name], methods, n_splits, inside=inside, **shared)
        for split in _published(opened) if published else ():
            jobs += plan([name], methods, 1, split=split, **shared)
    return sorted(jobs, key=lambda job: (not job.inside, job.trial))


def _published(data: ZeroShotDataset) -> Iterator[str]:
    """Names of the splits that come with a data set; "" for its only one, if it has one."""
    if data.splits:
        yield from data.splits
    elif data.unseen_rows.size:
        yield ""
