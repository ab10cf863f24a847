"""Data sets: their split, the embedded digits, and the synthetic problem with a known cause."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from unseen import ClassTable, InputError
from unseen.datasets import (
    EMBEDDED,
    Split,
    ZeroShotDataset,
    digit_splits,
    load_digits_zero_shot,
    make_zero_shot,
    open_dataset,
)
from unseen.datasets.embedded import seven_segments
from unseen.rows.blocks import row_blocks

TABLE = ClassTable(["ant", "bee", "cat", "dog"], np.eye(4))
LABELS = np.array(["bee", "ant", "cat", "bee", "ant", "cat", "bee", "ant"])


def dataset(**changes):
    parts: dict[str, Any] = {"name": "pets", "y": LABELS, "classes": TABLE}
    parts |= {"X": np.arange(16.0).reshape(8, 2), "unseen": ["cat", "dog"]}
    return ZeroShotDataset(**(parts | changes))


# ---------------------------------------------------------------- splits


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_splits_are_disjoint_complete_and_of_the_right_classes(data):
    names = TABLE.names.tolist()
    y = data.draw(st.lists(st.sampled_from(names), min_size=4, max_size=20))
    unseen = data.draw(st.lists(st.sampled_from(names), unique=True))
    trained = [k for k, name in enumerate(y) if name not in unseen]
    tested = data.draw(st.lists(st.integers(0, len(y) - 1)))
    kept = {y[k] for k in trained if k not in tested}
    parts = {"X": np.ones((len(y), 1)), "y": y, "unseen": unseen, "test_rows": tested}
    if len(kept) < 2 or kept != {y[k] for k in trained}:
        with pytest.raises(InputError, match=r"rows to train on|kept for testing"):
            dataset(**parts)
        return
    pets = dataset(**parts)
    groups = [pets.train_rows, pets.seen_test_rows, pets.unseen_rows]
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(y)))
    assert set(pets.seen.tolist()) == kept
    assert {y[k] for k in pets.train_rows} == kept
    assert {y[k] for k in pets.seen_test_rows} <= kept
    assert {y[k] for k in pets.unseen_rows} == set(y) & set(unseen)
    assert set(pets.seen_test_rows.tolist()) <= set(tested)


def test_training_and_test_sets_by_hand():
    pets = dataset(test_rows=[0, 2])  # row 2 is of an unseen class, so it is tested there
    assert pets.train_rows.tolist() == [1, 3, 4, 6, 7]
    X, y = pets.training_set()
    assert X[:, 0].tolist() == [2, 6, 8, 12, 14]
    assert y.tolist() == ["ant", "bee", "ant", "bee", "ant"]
    X, y = pets.unseen_set()
    assert X[:, 0].tolist() == [4, 10]
    assert y.tolist() == ["cat", "cat"]
    assert pets.seen_test_rows.tolist() == [0]
    assert pets.facts() == {
        "rows": 8, "features": 2, "attributes": 4, "classes": 4, "seen classes": 2,
        "unseen classes": 2, "training rows": 5, "unseen rows": 2, "seen test rows": 1,
    }  # fmt: skip


def test_with_unseen_changes_the_split_alone():
    other = dataset().with_unseen({"ant"})
    assert other.unseen.tolist() == ["ant"]
    assert other.seen.tolist() == ["bee", "cat"]
    assert other.X is dataset(X=other.X).X
    assert dataset().with_unseen([]).unseen_rows.size == 0


def test_with_split_takes_unseen_classes_and_test_rows_together():
    splits = {
        "original": Split(np.array(["cat"]), np.array([], dtype=int)),
        "proposed": Split(np.array(["ant", "dog"]), np.array([2])),
    }
    pets = dataset(splits=splits, split="original")
    other = pets.with_split("proposed")
    assert (other.split, other.unseen.tolist()) == ("proposed", ["ant", "dog"])
    assert other.seen_test_rows.tolist() == [2]
    assert other.splits is splits
    assert other.with_split("original").seen_test_rows.size == 0
    assert other.with_unseen(["bee"]).split == ""
    with pytest.raises(InputError, match="'pets' has no split 'propose'; nearest name: 'proposed'"):
        pets.with_split("propose")
    bad = dataset(splits={"bad": Split(np.array(["cow"]), np.array([0]))})
    with pytest.raises(InputError, match="class 'cow' has no line in the class table"):
        bad.with_split("bad")


def test_numbers_are_names_too():
    table = ClassTable([10, 20, 30], np.eye(3))
    data = dataset(X=np.ones((4, 1)), y=[10, 20, 20, 30], classes=table, unseen=[30])
    assert data.unseen_rows.tolist() == [3]


def with_cell(value):
    X = np.ones((8, 2))
    X[5, 1] = value
    return X


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones(8)}, r"rows and columns, not of shape \(8,\)"),
        ({"X": np.ones((2, 2, 2))}, r"not of shape \(2, 2, 2\)"),
        ({"X": np.ones((0, 2)), "y": []}, "empty: 0 rows of 2 columns"),
        ({"X": np.ones((8, 0))}, "empty: 8 rows of 0 columns"),
        ({"X": np.full((8, 2), "x")}, "features must be numbers, not <U1"),
        ({"X": np.ones((8, 2)) * 1j}, "features must be numbers, not complex128"),
        ({"X": np.ones((7, 2))}, "7 rows of features but 8 labels"),
        ({"X": with_cell(np.nan)}, "NaN or infinite in row 5, column 1"),
        ({"X": with_cell(-np.inf)}, "NaN or infinite in row 5, column 1"),
        ({"y": ["bee", "ant", "cta", "cta"] * 2}, "'cta' has 4 rows and no line.*nearest.*'cat'"),
        ({"y": range(8)}, "different kinds"),
        ({"y": ["bee", 1] * 4}, "labels are of mixed kinds"),
        ({"y": ["bee"] * 8}, "only 'bee' has rows to train on: at least two classes"),
        ({"unseen": ["ant", "bee", "cat"]}, "no class has rows to train on"),
        ({"unseen": ["cats"]}, "class 'cats' has no line in the class table; nearest name: 'cat'"),
        ({"unseen": [1]}, "different kinds"),
        ({"unseen": "cat"}, "unseen classes must be a list, not 'cat'"),
        ({"test_rows": [8]}, "test rows must be between 0 and 7"),
        ({"test_rows": [-1]}, "test rows must be between 0 and 7"),
        ({"test_rows": [1.5]}, "test rows must be row numbers"),
        ({"test_rows": LABELS == "ant"}, "row numbers counted from 0, not bool"),
        ({"test_rows": [0, 3, 6], "unseen": []}, "all rows of 'bee' are kept for testing"),
        ({"images": np.ones((7, 2, 2))}, "8 rows but 7 images"),
        ({"image_paths": np.array(["a.png"])}, "8 rows but 1 image paths"),
    ],
)
def test_error_names_what_is_wrong(changes, message):
    with pytest.raises(InputError, match=message):
        dataset(**changes)


def test_the_first_bad_cell_is_named_wherever_the_block_of_rows_ends(monkeypatch):
    from unseen.datasets import dataset as module

    small = partial(row_blocks, row_bytes=1, block_bytes=2)
    monkeypatch.setattr(module, "array_blocks", lambda X: small(X.shape[0]))
    with pytest.raises(InputError, match="row 5, column 1"):
        dataset(X=with_cell(np.nan))


@pytest.mark.parametrize("unseen", [[], ["dog"]])
def test_no_rows_to_test_on_is_an_error_with_a_way_out(unseen):
    with pytest.raises(InputError, match=r"'pets' has no rows of unseen classes.*unseen.txt"):
        dataset(unseen=unseen).unseen_set()


def test_embedded_data_sets_open_by_name(tmp_path, monkeypatch):
    assert {open_dataset(name).name for name in EMBEDDED} == set(EMBEDDED)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()  # a folder of that name is the user's own
    with pytest.raises(InputError, match="digits has no features file"):
        open_dataset("digits")


# ---------------------------------------------------------------- digits

DISPLAY = """
 _     _  _     _  _  _  _  _
| |  | _| _||_||_ |_   ||_||_|
|_|  ||_  _|  | _||_|  ||_| _|
"""
PLACES = {  # line and column of each segment in the drawing of a digit
    "top": (0, 1), "upper left": (1, 0), "middle": (1, 1), "upper right": (1, 2),
    "lower left": (2, 0), "bottom": (2, 1), "lower right": (2, 2),
}  # fmt: skip
SPELLED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize("digit", range(10))
def test_segment_codes_draw_the_digit(digit):
    lines = [line.ljust(30)[3 * digit :] for line in DISPLAY.strip("\n").split("\n")]
    table = seven_segments()
    assert table.attributes is not None
    code = dict(zip(table.attributes, table.vector(SPELLED[digit]), strict=True))
    for segment, (line, column) in PLACES.items():
        is_on = lines[line][column] != " "
        assert (code[f"{segment} on"], code[f"{segment} off"]) == (is_on, not is_on)
    assert len(code) == 14


def test_digits_are_those_of_scikit_learn():
    data = load_digits_zero_shot()
    source = load_digits()
    assert data.X.shape == (1797, 64)
    assert data.y.tolist() == [SPELLED[d] for d in source.target]  # type: ignore[union-attr]
    assert data.images is not None
    np.testing.assert_array_equal(data.images, source.images)  # type: ignore[union-attr]
    np.testing.assert_array_equal(data.images.reshape(1797, 64), data.X)
    assert data.unseen.tolist() == ["five", "one", "two"]
    assert load_digits_zero_shot(["nine"]).unseen.tolist() == ["nine"]


def test_digit_splits_are_all_triples_and_the_default_differs_most():
    splits = digit_splits()
    assert len(splits) == len({frozenset(s) for s in splits}) == 120
    assert all(len(set(s)) == 3 for s in splits)
    table = seven_segments()

    def difference(triple):
        pairs = combinations(map(table.vector, triple), 2)
        return sum(np.abs(a - b).sum() for a, b in pairs)

    assert difference(("one", "two", "five")) == max(map(difference, splits))


# ---------------------------------------------------------------- synthetic


def small(**changes):
    sizes: dict[str, Any] = {"n_seen": 12, "n_unseen": 4, "rows_per_class": 9, "n_features": 20}
    sizes["n_factors"] = 6
    return make_zero_shot(**(sizes | changes))


def test_synthetic_depends_on_its_seed_alone():
    first, again, other = small(), small(), small(random_state=1)
    np.testing.assert_array_equal(first.X, again.X)
    assert first.classes == again.classes
    assert not np.isclose(first.X, other.X).any()
    assert first.X.dtype == np.float32
    assert (first.seen.size, first.unseen.size, first.y.size) == (12, 4, 144)


def test_synthetic_noise_is_independent_between_classes_and_seeds():
    def residuals(seed):
        rows = small(rows_per_class=100, random_state=seed).X.reshape(16, 100, 20)
        return (rows - rows.mean(axis=1, keepdims=True)).reshape(16, -1)

    samples = np.vstack([residuals(0), residuals(1)])
    correlations = np.corrcoef(samples)[np.triu_indices(32, 1)]
    assert np.abs(correlations).max() < 0.2  # 2,000 numbers each: 0.02 by chance, 1 if shared


def test_synthetic_rows_do_not_depend_on_how_many_follow():
    whole, longer = small(dtype=np.float64), small(dtype=np.float64, rows_per_class=11)
    np.testing.assert_allclose(
        longer.X.reshape(16, 11, 20)[:, :9], whole.X.reshape(16, 9, 20), rtol=1e-12, atol=1e-12
    )


def test_without_noise_every_row_of_a_class_is_the_same():
    rows = small(noise=0).X.reshape(16, 9, 20)
    np.testing.assert_array_equal(rows, np.broadcast_to(rows[:, :1], rows.shape))
    assert len(np.unique(rows[:, 0], axis=0)) == 16


def test_unseen_rows_lie_next_to_their_own_description():
    data = make_zero_shot(noise=0.1)
    X, y = data.training_set()
    W = np.linalg.lstsq(X, data.classes.vectors[data.classes.rows(y)], rcond=None)[0]
    X, y = data.unseen_set()
    unseen = data.classes.select(data.unseen)
    distance = np.linalg.norm((X @ W)[:, None] - unseen.vectors, axis=2)
    assert np.mean(unseen.names[distance.argmin(axis=1)] == y) == 1


def test_table_noise_changes_the_table_alone():
    plain, noisy = small(), small(table_noise=1.0)
    np.testing.assert_array_equal(plain.X, noisy.X)
    assert 0.8 < np.std(noisy.classes.vectors - plain.classes.vectors) < 1.2


@pytest.mark.parametrize(
    "changes",
    [
        *({name: 0} for name in ("rows_per_class", "n_features", "n_factors", "n_attributes")),
        {"n_seen": -1},
        {"n_unseen": -1},
    ],
)
def test_synthetic_names_the_parameter_that_is_wrong(changes):
    with pytest.raises(InputError, match=f"{next(iter(changes))} must be"):
        small(**changes)


def test_synthetic_needs_two_seen_classes():
    with pytest.raises(InputError, match="at least two classes"):
        small(n_seen=1)
