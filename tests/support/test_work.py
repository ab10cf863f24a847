"""Methods tell how far they are; who listens hears it, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from unseen import JLSE, ZeroShotDataset, make_zero_shot
from unseen.estimators import ALE, SSEReLU
from unseen.support.work import listening, tell
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return make_zero_shot(8, 2, rows_per_class=5, n_features=12, n_attributes=6)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            JLSE(training=Algorithm2(2)),
            ["dictionaries", "first codes and W"]
            + [f"round {r}: {block}" for r in (1, 2) for block in ("Zs", "Zt", "B", "D", "W")],
        ),
        (
            JLSE(training=Algorithm1(1)),
            ["dictionaries", "first codes and W"]
            + [f"round 1 of Algorithm 1: {block}" for block in ("B", "D", "W")],
        ),
        (SSEReLU(n_rounds=1), ["round 1 of 1: w", "round 1 of 1: V"]),
        (ALE(max_iter=2, tol=0.0), ["pass 1 of at most 2", "pass 2 of at most 2"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fit_tells_its_steps(data: ZeroShotDataset, model: Any, expected: list[str]) -> None:
    heard: list[str] = []
    with listening(heard.append):
        model.fit(*data.training_set(), classes=data.classes)
    assert [step for step in heard if step in expected] == expected
    assert heard[-1] == expected[-1]


def test_only_who_listens_hears() -> None:
    outer: list[str] = []
    inner: list[str] = []
    with listening(outer.append):
        tell("one")
        with listening(inner.append):
            tell("two")
        tell("three")
    tell("four")
    assert (outer, inner) == (["one", "three"], ["two"])


def test_a_failure_ends_the_listening() -> None:
    heard: list[str] = []
    with pytest.raises(ZeroDivisionError), listening(heard.append):
        heard.append(str(1 / 0))
    tell("after")
    assert heard == []
