"""Random problems for the measures, rich in ties."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

NAMES = ["zebra", "ant", "Indigo Bunting", "b", "cow", "yak"]
quick = settings(max_examples=30, deadline=None)


@st.composite
def problems(draw, least_classes=2):
    """(y, scores, candidates): scores on a grid of eighths, exact in floats and rich in ties."""
    candidates = np.array(draw(st.permutations(NAMES))[: draw(st.integers(least_classes, 6))])
    n, rng = draw(st.integers(1, 25)), np.random.default_rng(draw(st.integers(0, 10**6)))
    steps = draw(st.sampled_from([1, 3, 1000]))
    scores = rng.integers(-steps, steps + 1, (n, len(candidates))) / 8
    return rng.choice(candidates, n), scores, candidates


@st.composite
def generalized_problems(draw):
    """A problem with rows of seen and of unseen classes, and the seen classes."""
    y, scores, candidates = draw(problems())
    seen = candidates[: draw(st.integers(1, len(candidates) - 1))]
    y, scores = np.append(y, candidates[[0, -1]]), np.vstack([scores, scores[:1], -scores[:1]])
    return y, scores, candidates, seen


@st.composite
def queries(draw):
    """(relevant, scores) with at least one relevant row."""
    n, rng = draw(st.integers(1, 40)), np.random.default_rng(draw(st.integers(0, 10**6)))
    relevant = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    relevant[rng.integers(n)] = True
    return relevant, rng.integers(0, draw(st.sampled_from([1, 4, 1000])), n) / 8


def shuffled(*arrays, seed=0):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return tuple(a[order] for a in arrays)
