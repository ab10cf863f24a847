"""The class table: names decide, positions never; real files of all five benchmark data sets."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.validation import _check_method_params

from unseen import ClassTable, InputError
from unseen.classes.checks import as_names

ATTRIBUTES = ["stripes", "hooves", "claws"]
ANIMALS = ClassTable(
    ["zebra", "tiger", "horse"], [[1, 0.75, 0], [1, 0, 0.5], [0, 1, 0.25]], ATTRIBUTES
)
# The same animals typed a second time, by attribute and in another order.
BY_ATTRIBUTE = {
    "zebra": {"hooves": 0.75, "stripes": 1, "claws": 0},
    "tiger": {"stripes": 1, "claws": 0.5, "hooves": 0},
    "horse": {"claws": 0.25, "hooves": 1, "stripes": 0},
}
VECTORS = {n: [v[a] for a in ATTRIBUTES] for n, v in BY_ATTRIBUTE.items()}
FRAME = pd.DataFrame(BY_ATTRIBUTE).T[ATTRIBUTES]


# ---------------------------------------------------------------- making one


def test_a_series_is_matched_by_its_index() -> None:
    by_name = {n: pd.Series(v)[ATTRIBUTES[::-1]] for n, v in BY_ATTRIBUTE.items()}
    turned = {**by_name, "tiger": by_name["tiger"][ATTRIBUTES]}
    table = ClassTable.from_dict(turned).subset(ATTRIBUTES)
    assert {n: table.vector(n).tolist() for n in VECTORS} == VECTORS
    twice = {
        "zebra": pd.Series([1, 2], index=["x", "x"]),
        "cow": pd.Series([1, 2], index=["x", "y"]),
    }
    with pytest.raises(InputError, match="'zebra' names an attribute twice"):
        ClassTable.from_dict(twice)


def test_names_in_another_form_of_unicode_are_told_apart() -> None:
    table = ClassTable(["Käfer", "Wanze"], np.eye(2))
    with pytest.raises(InputError, match=r"nearest name: 'Käfer', in another form of Unicode"):
        table.rows(["Ka\u0308fer"])


@pytest.mark.parametrize(
    "table",
    [
        ClassTable.from_dict(VECTORS, ATTRIBUTES),
        ClassTable.from_dict(BY_ATTRIBUTE, ATTRIBUTES),
        ClassTable.from_dict(BY_ATTRIBUTE).subset(ATTRIBUTES),
        ClassTable.from_dict({n: np.array([v]) for n, v in VECTORS.items()}, ATTRIBUTES),
        ClassTable.from_frame(FRAME),
        ClassTable.from_frame(FRAME.reset_index()),
        ClassTable.of(FRAME),
        ClassTable.of(ANIMALS),
        ClassTable.from_frame(ANIMALS.to_frame()),
        ClassTable(FRAME.index, FRAME.to_numpy(), FRAME.columns),
        ClassTable(np.array(list(VECTORS), dtype=object), list(VECTORS.values()), ATTRIBUTES),
    ],
)
def test_every_way_to_make_a_table_makes_the_same(table):
    assert table == ANIMALS
    assert table.names.dtype.kind == "U"
    assert (table.n_classes, table.n_attributes) == (3, 3)


def test_of_a_mapping_takes_names_from_its_keys():
    table = ClassTable.of(VECTORS)
    assert table.names.tolist() == list(VECTORS)
    assert table.attributes is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.float32, np.float32), (">f8", np.float64), (np.int8, np.float64), (bool, np.float64)],
)
def test_float32_stays_and_everything_else_becomes_float64(given, kept):
    assert ClassTable(["a", "b"], np.eye(2, dtype=given)).vectors.dtype == kept


def test_ten_thousand_columns():
    table = ClassTable(["a", "b"], np.arange(20_000).reshape(2, -1), map(str, range(10_000)))
    assert table.subset(["9999"]).vector("b") == 19_999


def test_a_frame_whose_columns_are_only_numbered_gives_no_attribute_names():
    plain = ClassTable(["a", "b"], np.eye(2))
    assert ClassTable.from_frame(plain.to_frame()) == plain


TWO = ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassTable(["a", "b", "a"], np.eye(3)), "rows .* share a name: 'a'"),
        (lambda: ClassTable(["a", ""], np.eye(2)), "row 1 .* has no name"),
        (lambda: ClassTable([], np.empty((0, 2))), "no class at all"),
        (lambda: ClassTable(TWO, np.empty((2, 0))), "no columns"),
        (
            lambda: ClassTable(TWO, [[1, 2], [np.nan, 3]]),
            "class 'b' is NaN or infinite in column 0",
        ),
        (lambda: ClassTable(TWO, [[1, -np.inf], [2, np.inf]]), r"'a' .* column 1 .*\(2 such"),
        (lambda: ClassTable(TWO, [[None, 1], [2, 3]]), "NaN or infinite"),
        (lambda: ClassTable(TWO, [[1, 2], [3]]), "different widths"),
        (lambda: ClassTable(TWO, [1, 2]), r"one vector per class: 2 names.*\(2,\)"),
        (lambda: ClassTable(TWO, np.eye(3)), r"2 names.*\(3, 3\)"),
        (lambda: ClassTable(TWO, [["x", 1], [2, 3]]), "not numbers .*'x'"),
        (lambda: ClassTable(TWO, np.eye(2) * 1j), "complex128"),
        (lambda: ClassTable(TWO, np.zeros((2, 2), dtype="M8[D]")), "datetime64"),
        (lambda: ClassTable(TWO, np.eye(2), ["x", "x"]), "columns .* share a name: 'x'"),
        (lambda: ClassTable(TWO, np.eye(2), ["x"]), "1 attribute names for 2 columns"),
        (lambda: ClassTable(TWO, np.eye(2), "xy"), "attribute names must be a list, not 'xy'"),
        (lambda: ClassTable("ab", np.eye(2)), "class names must be a list, not 'ab'"),
        (lambda: ClassTable(["a", 1], np.eye(2)), "mixed kinds: 'a' is a string, 1 is not"),
        (lambda: ClassTable([1, None], np.eye(2)), "strings or numbers, not None"),
        (lambda: ClassTable([1, np.nan], np.eye(2)), "NaN"),
        (lambda: ClassTable([1, 2**64], np.eye(2)), "more than 64 bits"),
        (lambda: ClassTable([["a"], ["b"]], np.eye(2)), "not of 2 dimensions"),
        (lambda: ClassTable([["a"], ["b", "c"]], np.eye(2)), "flat list"),
        (lambda: ClassTable([b"a", b"b"], np.eye(2)), "strings or numbers"),
        (lambda: ClassTable.from_dict({}), "no class at all"),
        (lambda: ClassTable.from_dict({"a": [1], "b": [1, 2]}), "'a' has 1, 'b' has 2"),
        (lambda: ClassTable.from_dict({"a": [[1, 2], [3]]}), "class 'a' is not a list of numbers"),
        (lambda: ClassTable.from_dict({"a": {"x": 1}, "b": {"y": 1}}), "'b' .* other attributes"),
        (lambda: ClassTable.from_dict({"a": {"x": 1}, "b": 5}), "'b' is described by a int"),
        (lambda: ClassTable.from_dict({"a": [1], "b": {"x": 1}}), "'a' is described by a list"),
        (lambda: ClassTable.from_frame(FRAME.assign(home="x")), "column 'home': .* no words"),
        (lambda: ClassTable.from_frame(FRAME.assign(born=pd.Timestamp(0))), "nor text: 'born'"),
        (lambda: ClassTable.from_frame(FRAME[["claws", "claws"]]), "a name: 'claws'"),
        (lambda: ClassTable.from_frame(FRAME[[]]), "no columns"),
        (
            lambda: ClassTable.from_frame(FRAME.astype("Float64").replace(1, pd.NA)),
            r"class 'zebra' has no value in column 'stripes' \(3 such cells in all\)",
        ),
        (lambda: ClassTable.of([[1, 2]]), "not list"),
        (lambda: ClassTable.of("zoo.csv"), r"use ClassTable.read\('zoo.csv'\)"),
        (lambda: ANIMALS.rows(["0", "1"]), "labels are numbers such as '0'.*such as 'zebra'"),
        (lambda: ANIMALS.vector("zebar"), "class 'zebar' has no line .*nearest name: 'zebra'"),
        (lambda: ANIMALS.rows(["Tigre"] * 4), "'Tigre' has 4 rows and no line .*'tiger'"),
        (lambda: ANIMALS.rows(["qqq", "yyy"]), r"table \(2 names are missing\)"),
        (lambda: ANIMALS.rows([3]), "different kinds: label 3 is a int.*'zebra'"),
        (lambda: ClassTable([1, 2], np.eye(2)).rows(["1"]), "label '1' is a str.*such as 1;"),
        (lambda: ANIMALS.rows("zebra"), "must be a list"),
        (lambda: ANIMALS.select([]), "no class at all"),
        (lambda: ANIMALS.drop(ANIMALS.names), "no class at all"),
        (lambda: ANIMALS.subset(["strips"]), "no attribute 'strips'; nearest name: 'stripes'"),
        (lambda: ANIMALS.subset([3]), "no column 3: the class table has 3"),
        (lambda: ANIMALS.subset([]), "no columns"),
        (lambda: ClassTable(TWO, np.eye(2)).subset(["x"]), "the columns have no names"),
        (lambda: ANIMALS.merge(ANIMALS.subset([0])), "by 1 columns, the known ones by 3"),
        (
            lambda: ANIMALS.merge(ClassTable(["okapi"], [[1]], ATTRIBUTES[:1])),
            "described by 1 columns, the known ones by 3; missing: 'hooves', 'claws'",
        ),
        (lambda: ANIMALS.merge(ClassTable(["zebra"], [[0, 0, 0]])), "'zebra' is known already"),
        (lambda: ANIMALS.merge(ClassTable([7], [[1, 2, 3]])), "mixed kinds"),
        (lambda: ANIMALS.merge(ClassTable(["cow"], np.ones((1, 3)), [*"abc"])), "no attribute"),
        (lambda: ClassTable.beside({}), "at least one"),
        (lambda: ClassTable.beside([ANIMALS]), "a mapping of names"),  # pyright: ignore
        (
            lambda: ClassTable.beside({"a": ANIMALS, "b": ANIMALS.drop(["tiger"])}),
            "different classes: 'tiger'",
        ),
        (lambda: ClassTable.beside({"a": ANIMALS, "b": {1: [1], 2: [2]}}), "different classes"),
        (lambda: ClassTable(TWO, np.eye(2), None, [("a", 0, 0)]), "cover the 2 columns"),
        (lambda: ClassTable(TWO, np.eye(2), None, [("a", 1, 1), ("b", 0, 0)]), "without gaps"),
        (lambda: ClassTable(TWO, np.eye(2), None, [("a", 0, 0), ("a", 1, 1)]), "different names"),
        (lambda: ClassTable(TWO, np.eye(2), None, [("", 0, 1)]), "different names"),
        (lambda: ClassTable(TWO, np.eye(2), None, [("a", 0, -1), ("b", 0, 1)]), "without gaps"),
        (lambda: ClassTable(TWO, np.eye(2), None, []), "cover the 2 columns"),
        (lambda: ClassTable(TWO, np.eye(2), None, ["ab"]), "a name with its first and last"),
    ],
)
def test_error_names_what_is_wrong(make, message):
    with pytest.raises(InputError, match=message):
        make()


# ---------------------------------------------------------------- using it


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)), st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_rows_and_select_follow_names_in_any_order(order, labels, data):
    description = {f"class {i}": [i, i**2] for i in range(6)}
    names = [f"class {i}" for i in order]
    table = ClassTable(names, [description[n] for n in names])
    labels = [f"class {i}" for i in labels]
    assert table.names[table.rows(labels)].tolist() == labels
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    picked = table.select(chosen)
    assert picked.names.tolist() == chosen
    assert all(picked.vector(n).tolist() == description[n] for n in chosen)
    left = [n for n in names if n not in chosen]
    if left:
        assert table.drop(chosen) == table.select(left)


def test_subset_by_name_and_by_number():
    by_name = ANIMALS.subset(["claws", "stripes"])
    assert by_name.attributes == ("claws", "stripes")
    assert by_name.vector("tiger").tolist() == [0.5, 1]
    assert ANIMALS.subset([2, -3]) == by_name


def test_merge_adds_classes_and_matches_columns_by_name():
    more = ClassTable(["lion", "zebra"], [[1, 0, 0], [0, 1, 0.75]], ["claws", "stripes", "hooves"])
    merged = ANIMALS.merge(more)
    assert merged.names.tolist() == ["zebra", "tiger", "horse", "lion"]
    assert merged.vector("lion").tolist() == [0, 0, 1]
    assert merged.merge(more) is merged


# ---------------------------------------------------------------- groups of columns

SOUNDS = ClassTable(["horse", "zebra", "tiger"], [[0.1], [0.2], [0.9]], ["loud"])
BOTH = ClassTable.beside({"looks": ANIMALS, "sounds": SOUNDS})
PLACES = (("looks", 0, 2), ("sounds", 3, 3))


def test_beside_matches_rows_by_name_and_knows_where_each_description_lies():
    assert BOTH.groups == PLACES
    assert BOTH.names.tolist() == ANIMALS.names.tolist()
    assert BOTH.vector("horse").tolist() == [0, 1, 0.25, 0.1]
    assert BOTH.attributes == (*ATTRIBUTES, "loud")
    assert ClassTable(BOTH.names, BOTH.vectors, BOTH.attributes) != BOTH
    assert BOTH.groups is not None
    assert BOTH.vectors[:, BOTH.groups[1].columns].tolist() == [[0.2], [0.9], [0.1]]
    twice = ClassTable.beside({"a": ANIMALS, "b": ANIMALS}).attributes
    assert twice == tuple(f"{k}.{a}" for k in "ab" for a in ATTRIBUTES)
    plain = ClassTable(ANIMALS.names, np.eye(3))
    assert ClassTable.beside({"a": ANIMALS, "b": plain}).attributes is None


def test_beside_takes_mappings_frames_and_tables_with_groups_of_their_own():
    assert ClassTable.beside({"a": VECTORS, "b": FRAME}).groups == (("a", 0, 2), ("b", 3, 5))
    assert ClassTable.beside({"all": BOTH, "more": SOUNDS}).groups == (
        ("all", 0, 3),
        ("more", 4, 4),
    )
    assert ClassTable.beside({"one": SOUNDS}).groups == (("one", 0, 0),)


def test_groups_survive_what_is_done_to_the_classes():
    cow = ClassTable(["cow"], [[0, 1, 0, 0.5]], BOTH.attributes)
    for same in (
        BOTH.select(["tiger"]),
        BOTH.drop(["tiger"]),
        BOTH.merge(cow),
        copy.deepcopy(BOTH),
        pickle.loads(pickle.dumps(BOTH)),
        ClassTable.of(BOTH),
    ):
        assert same.groups == PLACES


def test_contains_repr_and_inequality():
    assert "zebra" in ANIMALS
    assert "lion" not in ANIMALS
    assert repr(ANIMALS) == "ClassTable(3 classes x 3 attributes: 'zebra', 'tiger', 'horse')"
    numbers = ClassTable([0, 1, 2], ANIMALS.vectors, ATTRIBUTES)
    renamed = ClassTable(ANIMALS.names, ANIMALS.vectors, [*"abc"])
    for other in (numbers, renamed, ANIMALS.select(["tiger", "zebra", "horse"]), "zebra"):
        assert other != ANIMALS


def test_a_table_never_changes():
    names, vectors = np.array(["a", "b"]), np.eye(2)
    table = ClassTable(names, vectors)
    names[0], vectors[0, 0] = "z", 9
    assert table == ClassTable(["a", "b"], np.eye(2))
    for same in (table, copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert same == table
        for array in (same.names, same.vectors):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]
        with pytest.raises(AttributeError, match="cannot be changed"):
            same.attributes = ("x", "y")
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


def test_scikit_learn_never_slices_a_table_as_if_it_were_rows():
    table = ClassTable([f"c{i}" for i in range(10)], np.eye(10))  # as many classes as rows of X
    assert not any(hasattr(table, a) for a in ("__len__", "shape", "__array__", "__iter__"))
    assert np.asarray(table).shape == ()
    passed = _check_method_params(np.zeros((10, 2)), {"classes": table}, indices=[1, 2])
    assert passed["classes"] is table


def test_as_names_keeps_kinds_apart():
    assert as_names([1, 2.5], "labels").dtype.kind == "f"
    assert as_names(np.array([1, 2], dtype=object), "labels").dtype.kind == "i"
    assert as_names(pd.Series(["a", "b"]), "labels").tolist() == ["a", "b"]
    assert as_names({"b": 1, "a": 2}.keys(), "labels").tolist() == ["b", "a"]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="a type of numpy 2")
def test_as_names_takes_the_strings_of_numpy_2():
    names = np.array(["a", "longer"], dtype=np.dtypes.StringDType())
    assert as_names(names, "labels").dtype == "<U6"


# ---------------------------------------------------------------- real files


@pytest.mark.parametrize(
    ("name", "classes", "attributes", "unseen"),
    [
        ("CUB", 200, 312, 50),
        ("AWA1", 50, 85, 10),
        ("AWA2", 50, 85, 10),
        ("SUN", 717, 102, 72),
        ("APY", 32, 64, 12),
    ],
)
def test_benchmark_files_have_the_published_sizes(data_folder, name, classes, attributes, unseen):
    path = data_folder / name / "att_splits.mat"
    table, original = ClassTable.read(path), ClassTable.read(path, key="original_att")
    assert (table.n_classes, table.n_attributes) == (classes, attributes)
    np.testing.assert_allclose(np.linalg.norm(table.vectors, axis=1), 1)
    lengths = np.linalg.norm(original.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(original.vectors / lengths, table.vectors, atol=1e-12)
    kept_out = (data_folder / name / "ps_testclasses.txt").read_text().split()
    assert table.select(kept_out).n_classes == unseen


@pytest.mark.parametrize(
    ("name", "classes", "matrix", "same_order"),
    [
        (
            "CUB",
            "CUB_200_2011/classes.txt",
            "CUB_200_2011/attributes/class_attribute_labels_continuous.txt",
            False,
        ),
        ("AWA1", "classes.txt", "predicate-matrix-continuous.txt", True),
    ],
)
def test_rows_equal_the_data_sets_own_text_files_by_name(
    data_folder, name, classes, matrix, same_order
):
    table = ClassTable.read(data_folder / name / "att_splits.mat", key="original_att")
    lines = (data_folder / name / classes).read_text().splitlines()
    published = np.loadtxt(data_folder / name / matrix)
    for line, row in zip(lines, published, strict=True):
        np.testing.assert_array_equal(table.vector(line.split()[1]), row)
    assert np.array_equal(table.vectors, published) == same_order


def test_sentence_descriptions_and_attributes_of_cub_stand_side_by_side(data_folder):
    attributes = ClassTable.read(data_folder / "CUB" / "att_splits.mat")
    sentences = ClassTable.read(data_folder / "CUB" / "sent_splits.mat")
    joined = ClassTable.beside({"attributes": attributes, "sentences": sentences})
    assert joined.n_attributes == 312 + 1024
    name = "200.Common_Yellowthroat"
    np.testing.assert_array_equal(joined.vector(name)[312:], sentences.vector(name))
