"""The two decision functions."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.inference.scorer import decision_scores

LOSSES = ("hinge", "squared_hinge")
SCORES = np.random.default_rng(0).uniform(-2, 0.9, (6, 4))
FIT = np.array([0.1, 0.0, 2.0, 0.5])


@pytest.mark.parametrize("loss", LOSSES)
def test_decision_1_by_margin_is_the_similarity_itself(loss: str) -> None:
    np.testing.assert_array_equal(decision_scores(SCORES, loss), SCORES)


@pytest.mark.parametrize("loss", LOSSES)
def test_decision_1_saturating_is_minus_the_loss(loss: str) -> None:
    slack = np.maximum(0, 1 - SCORES)
    expected = -(slack**2) if loss == "squared_hinge" else -slack
    np.testing.assert_allclose(decision_scores(SCORES, loss, "saturating"), expected)


@pytest.mark.parametrize(
    ("loss", "link", "share"),
    [
        ("hinge", "margin", 1.0),
        ("hinge", "saturating", 1.0),
        ("squared_hinge", "saturating", 1.0),
        ("squared_hinge", "margin", 0.5),  # in units of s, where log p_W is 2 s
    ],
)
def test_decision_2_takes_off_the_fit_of_the_class(loss: str, link: str, share: float) -> None:
    difference = decision_scores(SCORES, loss, link, FIT) - decision_scores(SCORES, loss, link)
    np.testing.assert_allclose(difference, np.tile(-share * FIT, (6, 1)), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("link", ["margin", "saturating"])
def test_decision_2_ranks_rows_within_a_class_like_decision_1(loss: str, link: str) -> None:
    one, two = (decision_scores(SCORES, loss, link, fit) for fit in (None, FIT))
    np.testing.assert_array_equal(np.argsort(one, axis=0), np.argsort(two, axis=0))


@pytest.mark.parametrize("loss", LOSSES)
def test_links_rank_alike_below_the_margin(loss: str) -> None:
    plain, saturating = (decision_scores(SCORES, loss, k) for k in ("margin", "saturating"))
    np.testing.assert_array_equal(np.argsort(plain, axis=1), np.argsort(saturating, axis=1))


@pytest.mark.parametrize("loss", LOSSES)
def test_beyond_the_margin_only_ties_are_decided_by_the_score(loss: str) -> None:
    scores = np.array([[1.5, 4.0, 1.0, 40.0]])
    found = decision_scores(scores, loss, "saturating")
    np.testing.assert_array_equal(np.argsort(found), np.argsort(scores))
    assert np.abs(found).max() < 0.05
    fit = np.array([0.0, 0.0, 0.0, 0.1])
    assert decision_scores(scores, loss, "saturating", fit).argmax() == 1


def test_float32_stays_and_input_is_left_alone() -> None:
    scores = SCORES.astype(np.float32)
    before = scores.copy()
    assert decision_scores(scores, "squared_hinge", "margin", FIT).dtype == np.float32
    np.testing.assert_array_equal(scores, before)
