"""The synthetic pairs: shares as asked for, and labels that follow the probabilities told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import InputError
from unseen.datasets import make_pairs
from unseen.metrics import known_pairs, roc_auc


def test_shapes_and_shares() -> None:
    data = make_pairs(50, 400, 10, 20, 4, positives=0.2, known=0.6)
    assert (data.S.shape, data.X.shape, data.Y.shape) == ((50, 10), (400, 20), (400, 50))
    assert (data.Y != 0).mean() == pytest.approx(0.6, abs=0.02)
    assert (data.Y[data.Y != 0] > 0).mean() == pytest.approx(0.2, abs=0.02)
    p = data.probabilities(data.S, data.X)
    assert p.shape == data.Y.shape
    assert p.mean() == pytest.approx(0.2, abs=1e-6)


def test_labels_follow_the_probabilities() -> None:
    data = make_pairs(100, 500, known=1.0)
    p = data.probabilities(data.S, data.X)
    for low in np.arange(0, 1, 0.2):
        inside = (p >= low) & (p < low + 0.2)
        deviation = 4 * np.sqrt(0.25 / inside.sum())
        assert abs((data.Y[inside] > 0).mean() - p[inside].mean()) < deviation


def test_no_bilinear_score_found_with_all_labels_beats_the_ceiling() -> None:
    """Also one that has seen the labels, short of learning them by heart: 24 numbers, 6,000."""
    data = make_pairs(60, 100, 4, 6, 3, known=1.0)
    features = np.einsum("ja,ib->jiab", data.X, data.S).reshape(6000, -1)
    fitted = np.linalg.lstsq(np.column_stack([features, np.ones(6000)]), data.Y.ravel(), rcond=None)
    scores = (np.column_stack([features, np.ones(6000)]) @ fitted[0]).reshape(data.Y.shape)
    ceiling = roc_auc(*known_pairs(data.Y, data.probabilities(data.S, data.X)))
    assert 0.9 * ceiling < roc_auc(*known_pairs(data.Y, scores)) < ceiling + 0.005


def test_sharpness_leaves_less_to_chance_and_the_seed_decides() -> None:
    ceilings = []
    for sharpness in (1.0, 4.0, 100.0):
        data = make_pairs(sharpness=sharpness)
        ceilings.append(roc_auc(*known_pairs(data.Y, data.probabilities(data.S, data.X))))
    assert 0.6 < ceilings[0] < ceilings[1] < ceilings[2]
    assert ceilings[2] > 0.999
    np.testing.assert_array_equal(make_pairs().Y, make_pairs().Y)
    assert (make_pairs(random_state=1).Y != make_pairs().Y).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_sources": 0}, "n_sources must be at least 1"),
        ({"n_source_features": 3}, "n_source_features must be at least 6, not 3"),
        ({"n_target_features": 3}, "n_target_features"),
        ({"positives": 1.0}, "positives must be a share"),
        ({"known": 0.0}, "known must be a share"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_pairs(**options)
