"""What no measure can be taken of is one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.problems import NAMES
from unseen import metrics
from unseen.errors import InputError

AB, TWO, HOLE = ["a", "b"], np.eye(2), np.array(["a", None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.per_class_accuracy(AB, ["a"]), "y_true has 2 rows and y_pred 1"),
        (lambda: metrics.per_image_accuracy([], []), "y_true is empty"),
        (lambda: metrics.per_image_accuracy([AB], [AB]), "y_true must be a flat list"),
        (lambda: metrics.per_class_accuracy(AB, [1, 2]), "y_true holds 'a' and y_pred 1"),
        (lambda: metrics.per_class_accuracy(["a", 1], AB), "y_true are of mixed kinds"),
        (
            lambda: metrics.per_class_accuracy(HOLE, AB),
            "must be strings or numbers, not None",
        ),
        (lambda: metrics.per_class_accuracy([1.0, 2.0], [1, 2]), "whole numbers, not float64"),
        (lambda: metrics.per_class_accuracy(np.ones(2), [1, 2]), "whole numbers, not float64"),
        (lambda: metrics.per_class_accuracy([True], [True]), "whole numbers, not bool"),
        (lambda: metrics.confusion_matrix(AB, ["a", "z"], AB), "y_pred has class 'z'"),
        (lambda: metrics.confusion_matrix(AB, AB, ["a", "b", "a"]), "names 'a' more than once"),
        (
            lambda: metrics.per_class_top_k_accuracy(["Indigo buntng"] * 2, TWO, NAMES[1:3]),
            r"'Indigo buntng' \(2 times\).*nearest name: 'Indigo Bunting'",
        ),
        (lambda: metrics.per_class_top_k_accuracy([1, 7], TWO, [0, 1]), "y_true has class 7"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 3), "k is 3; .* from 1 to 2"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 0), "k is 0"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 1.5), "k is 1.5"),  # pyright: ignore
        (lambda: metrics.per_class_top_k_accuracy(["a"], TWO, AB), "1 rows and scores 2"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, ["a"]), r"\(2, 2\).*1 candidates"),
        (lambda: metrics.per_class_top_k_accuracy(AB, [1, 0], AB), r"scores has shape \(2,\)"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO * np.nan, AB), r"NaN, first at \[0, 0\]"),
        (lambda: metrics.mean_average_precision(AB, [AB, AB], AB), "scores has dtype <U1"),
        (lambda: metrics.mean_average_precision(["z"], [[1, 2]], AB), "y_true has class 'z'"),
        (lambda: metrics.average_precision([0, 0], [1, 2]), "relevant marks no row"),
        (lambda: metrics.precision_recall_curve([0, 0], [1, 2]), "relevant marks no row"),
        (lambda: metrics.average_precision([1, -1], [1, 2]), "relevant holds more than 0 and 1"),
        (lambda: metrics.average_precision([1], [1, 2]), r"shape \(1,\) and scores \(2,\)"),
        (lambda: metrics.average_precision([], []), r"relevant has shape \(0,\)"),
        (lambda: metrics.average_precision([1, 0], [1, np.nan]), r"NaN, first at \[1\]"),
        (lambda: metrics.precision_at_k([1, 0], [1, 2], 3), "k is 3; .* number of rows"),
        (lambda: metrics.harmonic_mean(-0.1, 1), "give two accuracies"),
        (lambda: metrics.harmonic_mean(np.nan, 1), "give two accuracies"),
        (lambda: metrics.generalized_accuracy(AB, AB, AB), "no row of y_true is of an unseen"),
        (lambda: metrics.generalized_accuracy(AB, AB, ["z"]), "no row of y_true is of a seen"),
        (lambda: metrics.generalized_accuracy(AB, AB, [1]), "y_true holds 'a' and seen_classes 1"),
        (lambda: metrics.seen_unseen_curve(AB, TWO, AB, AB), "no candidate is of an unseen class"),
        (lambda: metrics.seen_unseen_curve(["a"] * 2, TWO, AB, ["a"]), "no row of y_true is of an"),
        (lambda: metrics.seen_unseen_curve(AB, TWO, AB, ["A "]), "'A ' .*nearest name: 'a'"),
        (lambda: metrics.seen_unseen_curve(AB, [[1, 2], [-np.inf, 0]], AB, ["a"]), "infinite"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
