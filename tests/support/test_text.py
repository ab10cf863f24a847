"""Names from strangers: bounded, valid, and harmless where they are shown."""

from __future__ import annotations

import numpy as np
import pytest

from unseen import ESZSL, JLSE, ClassTable, InputError, metrics, tune
from unseen.classes import ClassHoldout
from unseen.classes.checks import as_names
from unseen.support.text import MOST_LETTERS, checked_words, visible, words


def test_a_name_that_is_too_long_is_refused_before_it_is_repeated() -> None:
    """3,000 cells of a million letters would take 11 GB."""
    long = ["a"] * 3000
    long[7] = "x" * 1_000_000
    with pytest.raises(InputError, match=r"labels: 'x+', number 7 .* has 1,000,000 letters"):
        words(long, "labels")
    with pytest.raises(InputError, match="at most 1,000"):
        as_names(long, "labels")
    assert words(["x" * MOST_LETTERS], "labels").dtype.itemsize == 4 * MOST_LETTERS


def test_the_character_nul_is_not_lost_in_silence() -> None:
    vectors = np.eye(2)
    with pytest.raises(InputError, match=r"'a\\x00', number 0 .* holds the character NUL"):
        ClassTable(["a\x00", "a"], vectors)
    X = np.eye(4)
    table = ClassTable(["a", "b"], vectors)
    with pytest.raises(InputError, match="holds the character NUL"):
        ESZSL().fit(X, ["a\x00", "a", "b", "b"], table)


def test_what_is_no_letter_is_refused() -> None:
    codes = np.array([[97, 0x110000], [97, 98]], dtype=np.uint32)
    with pytest.raises(InputError, match="hold numbers that are no letters"):
        checked_words(codes.view("U2")[:, 0], "labels")
    for order in "<>":
        half = np.array([["a", "\ud800"]], dtype=f"{order}U1")
        with pytest.raises(InputError, match="labels: they are not valid Unicode"):
            checked_words(half, "labels")
    with pytest.raises(InputError, match="is not valid Unicode"):
        words(["\udfff"], "labels")
    swapped = np.array(["żółw", "ox"], dtype=">U4")
    assert checked_words(swapped, "labels").tolist() == ["żółw", "ox"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("żółw 🐢", "żółw 🐢"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("a\u202eb", "a\\u202eb"),
        ("\x9b\x7f", "\\x9b\\x7f"),
    ],
)
def test_what_a_terminal_obeys_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_masked_cells_are_not_used() -> None:
    X, y = np.arange(24.0).reshape(6, 4), np.repeat(["a", "b"], 3)
    table = ClassTable(["a", "b"], np.eye(2))
    masked = np.ma.masked_greater(X, 20)
    for rows, labels, vectors in (
        (masked, y, np.eye(2)),
        (X, np.ma.masked_equal(y, "b"), np.eye(2)),
        (X, y, np.ma.masked_equal(np.eye(2), 1)),
    ):
        with pytest.raises(InputError, match=r"masked cells?: fill or drop them first"):
            ESZSL().fit(rows, labels, ClassTable(["a", "b"], vectors))
    model = ESZSL().fit(np.ma.masked_array(X), y, table)
    with pytest.raises(InputError, match="X has 3 masked cells"):
        model.predict(masked)
    with pytest.raises(InputError, match="candidates have 1 masked cell:"):
        model.predict(X, candidates=np.ma.masked_equal(["a", "b"], "b"))
    with pytest.raises(InputError, match="class names have 1 masked cell:"):
        ClassTable(np.ma.masked_equal(["a", "b"], "b"), np.eye(2))
    for rows in (list(masked), [[np.ma.masked, 1.0, 2.0, 3.0]]):
        for call in (model.predict, model.similarities, lambda X: ESZSL().fit(X, y, table)):
            with pytest.raises(InputError, match=r"X has \d masked cells?: fill or drop them"):
                call(rows)
    for row in (masked[-1], list(masked[-1:]), list(masked[-1])):
        with pytest.raises(InputError, match=r"[xX] has 3 masked cells: fill or drop them first"):
            model.explain(row)
    assert list(model.predict(list(np.ma.masked_array(X)))) == list(model.predict(X))


def test_masked_cells_of_descriptions_are_not_used() -> None:
    X, y = np.arange(24.0).reshape(6, 4), np.repeat(["a", "b"], 3)
    known, masked = {"a": [1, 0], "b": [0, 1]}, np.ma.masked_array([99, 1], [True, False])
    for odd in (masked, list(masked), {"p": np.ma.masked, "q": 1.0}):
        with pytest.raises(InputError, match="description of class 'd' has 1 masked cell: fill"):
            ClassTable.from_dict({"d": odd})
    with pytest.raises(InputError, match="description of class 'd' has 1 masked cell: fill"):
        ESZSL().fit(X, y, {**known, "d": masked})
    model = ESZSL().fit(X, y, known)
    with pytest.raises(InputError, match="description of class 'z' has 1 masked cell: fill"):
        model.reveal({"z": masked})
    with pytest.raises(InputError, match="the class table has 1 masked cell: fill"):
        ClassTable(["a", "b"], [masked, [1, 2]])
    with pytest.raises(InputError, match="the class table has 1 masked cell: fill"):
        ClassTable.of({"d": {"words": "red", "size": np.ma.masked}, "e": {"words": "", "size": 1}})


def test_masked_cells_of_pairs_and_scores_are_not_used() -> None:
    masked = np.ma.masked_array([[1.0, -1.0], [-1.0, 1.0]], [[True, False], [False, False]])
    for call in (
        lambda: JLSE(2).fit_pairs(masked, np.eye(2), np.eye(2)),
        lambda: JLSE(2).fit_pairs(np.eye(2), list(masked), np.eye(2)),
        lambda: JLSE(2).fit_pairs(np.eye(2), np.eye(2), masked),
        lambda: metrics.mean_average_precision(["a", "b"], masked, ["a", "b"]),
    ):
        with pytest.raises(InputError, match=r"(has|have) 1 masked cell: fill or drop them first"):
            call()


def test_truth_values_are_no_numbers() -> None:
    numbers, truths = ClassTable([0, 1], np.eye(2)), ClassTable([False, True], np.eye(2))
    assert 1 in numbers
    assert True in truths
    assert True not in numbers
    assert 1 not in truths
    X = np.eye(4)
    for y, table in (([True, False] * 2, numbers), ([1, 0] * 2, truths)):
        with pytest.raises(InputError, match="labels and class names are of different kinds"):
            ESZSL().fit(X, np.array(y), table)


def test_truth_values_among_numbers_are_no_names() -> None:
    """To numpy True among numbers is 1."""
    X, y, table = np.eye(8), [0, 1, 2, 3] * 2, ClassTable([0, 1, 2, 3, 4], np.eye(5) + 1)
    model, mixed = ESZSL().fit(X, y, table), [True, 0] * 4
    told = r"are of mixed kinds: True is a truth value, \d is not"
    for call in (
        lambda: ESZSL().fit(X, mixed, table),
        lambda: ESZSL().fit(X, np.array(mixed, dtype=object), table),
        lambda: model.score(X, mixed),
        lambda: model.top_k(X, 2, [True, 3]),
        lambda: model.predict(X, (3, True)),
        lambda: model.reveal({True: [1, 0, 0, 0, 0]}),
        lambda: ClassTable([0, True], np.eye(2)),
        lambda: tune(ESZSL(), X, mixed, table),
        lambda: next(ClassHoldout().split(X, mixed)),
        lambda: metrics.per_class_accuracy(mixed, mixed),
    ):
        with pytest.raises(InputError, match=told):
            call()
