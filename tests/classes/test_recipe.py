"""Class tables from text, and with missing values: what is learned, kept and used again."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unseen
from unseen import ESZSL, ClassTable, GaussianMatch, InputError
from unseen.classes.recipe import Description, Recipe
from unseen.encoders import TextEncoder
from unseen.encoders.tfidf import learn_tfidf
from unseen.estimators import METHODS

TEXTS = {
    "horse": "large and brown, with hooves; eats grass",
    "zebra": "striped, with hooves; eats grass",
    "cow": "large and spotted, with hooves and horns; eats grass",
    "goat": "small, with hooves and horns; climbs",
    "lion": "large and brown, a cat with claws; hunts",
    "tiger": "large and striped, a cat with claws; hunts",
    "lynx": "small and spotted, a cat with claws; hunts, climbs",
}
SEEN = ["horse", "cow", "goat", "lion", "lynx"]
OKAPI = "striped and brown, with hooves and horns; eats leaves"


def rows_of(table: ClassTable, n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Rows that look as the descriptions say, of the seen classes."""
    rng = np.random.default_rng(0)
    y = np.repeat(SEEN, n)
    looks = rng.normal(size=(table.n_attributes, 12))
    return table.select(SEEN).vectors[np.repeat(range(5), n)] @ looks + rng.normal(
        scale=0.1, size=(y.size, 12)
    ), y


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


# -- text ---------------------------------------------------------------------------------------


def test_every_way_to_give_texts_makes_the_same_table(tmp_path: Path) -> None:
    expected = ClassTable.from_text(TEXTS)
    lines = "".join(f'{name},"{text}"\n' for name, text in TEXTS.items())
    frame = pd.DataFrame({"text": pd.Series(TEXTS)})
    frame.reset_index().to_parquet(tmp_path / "a.parquet", index=False)
    for table in (
        ClassTable.from_text(list(TEXTS), TEXTS.values()),
        ClassTable.of(TEXTS),
        ClassTable.of(frame.rename_axis("name").reset_index()),
        ClassTable.read(write(tmp_path / "a.csv", f"name,Text\n{lines}")),
        ClassTable.read(tmp_path / "a.parquet"),
        ClassTable.from_text(TEXTS, encoder=TextEncoder()),
        pickle.loads(pickle.dumps(expected)),
        copy.deepcopy(expected),
    ):
        assert table == expected
        assert table.recipe is not None
        assert table.encode({"okapi": OKAPI}) == expected.encode({"okapi": OKAPI})
    assert expected.vectors.dtype == np.float32
    assert expected.groups is None


def test_words_are_learned_from_seen_classes_alone() -> None:
    table = ClassTable.from_text(TEXTS, seen=SEEN)
    oracle = learn_tfidf([TEXTS[name] for name in SEEN])
    assert table.attributes == tuple(oracle.words.tolist())
    assert table.vectors.tolist() == oracle(list(TEXTS.values())).tolist()
    X, y = rows_of(table)
    assert ESZSL().fit(X, y, classes=TEXTS).class_table_ == table


@pytest.mark.parametrize("kind", [GaussianMatch, ESZSL])
def test_a_text_revealed_after_loading_scores_as_if_it_had_been_there(
    kind: Any, tmp_path: Path
) -> None:
    table = ClassTable.from_text(TEXTS, seen=SEEN)
    X, y = rows_of(table)
    whole = ClassTable.from_text({**TEXTS, "okapi": OKAPI}, seen=SEEN)
    expected = kind().fit(X, y, classes=whole).similarities(X, ["okapi", "zebra"])
    model = kind().fit(X, y, classes=table)
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    revealed = loaded.reveal({"okapi": OKAPI})
    assert np.array_equal(revealed.similarities(X, ["okapi", "zebra"]), expected)
    alone = loaded.similarities(X, {"okapi": OKAPI, "zebra": TEXTS["zebra"]})
    assert np.array_equal(alone, expected)
    assert loaded.class_table_.encode({"okapi": OKAPI}) == whole.select(["okapi"])
    revealed.save(tmp_path / "again")
    assert unseen.load(tmp_path / "again").reveal({"ass": TEXTS["horse"]}).classes_.size == 4


def test_numbers_beside_texts_are_weighed_alike(tmp_path: Path) -> None:
    lines = "".join(
        f'{name},{1000 * k},"{text}",{k % 2},{["grass", "meat"]["hunts" in text]} food\n'
        for k, (name, text) in enumerate(TEXTS.items())
    )
    path = write(tmp_path / "a.csv", f"name,weight,looks,tail,food\n{lines}")
    table = ClassTable.read(path, seen=SEEN)
    assert table.groups is not None
    assert [group.name for group in table.groups] == ["numbers", "looks", "food"]
    seen = table.select(SEEN).vectors
    spreads = [seen[:, group.columns].var(axis=0).sum() for group in table.groups]
    np.testing.assert_allclose(spreads, 1, rtol=1e-5)
    X, y = rows_of(table)
    model = GaussianMatch().fit(X, y, classes=table)
    assert set(model.table_weights_) == {"numbers", "looks", "food"}
    new = {"okapi": {"food": "grass food", "tail": 1, "weight": 3000, "looks": OKAPI}}
    more = ClassTable.read(
        write(tmp_path / "b.csv", f'who,LOOKS,tail,weight,food\nokapi,"{OKAPI}",1,3000,grass food'),
        like=table,
    )
    assert table.encode(new) == more
    assert model.reveal(new).unseen_classes_.tolist() == ["okapi", "tiger", "zebra"]
    weight = more.vectors[0, 0] * table.vectors[1, 0] / table.vectors[3, 0]
    assert np.isclose(weight, table.vectors[1, 0])


@pytest.mark.parametrize("name", ["eszsl", "dap", "costa", "sae", "conse", "jlse"])
def test_other_methods_take_text_beside_numbers(name: str) -> None:
    described = {k: {"legs": 4.0 + (k == "goat"), "looks": t} for k, t in TEXTS.items()}
    table = ClassTable.of(described, SEEN)
    X, y = rows_of(table)
    model = METHODS[name]().fit(X, y, classes=described)
    assert model.class_table_ == table
    assert set(model.predict(X, "seen")) <= set(SEEN)


# -- missing values -----------------------------------------------------------------------------

GAPS = "name,size,legs\nhorse,60,4\ncow,,4\ngoat,10,\nlion,50,nan\nlynx,20,4\nzebra,,NA\n"


def test_a_missing_value_is_an_error_unless_told_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", GAPS)
    message = r"a.csv: class 'cow' has no value in column 'size' \(5 such cells in all\).*--missing"
    with pytest.raises(InputError, match=message):
        ClassTable.read(path)
    with pytest.raises(InputError, match="missing must be 'error', 'mean' or 'column', not 'no'"):
        ClassTable.read(path, missing="no")


def test_the_mean_is_that_of_seen_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", GAPS + "blue whale,9999,0\n")
    table = ClassTable.read(path, missing="mean", seen=SEEN)
    assert table.vector("cow").tolist() == [35, 4]  # of 60, 10, 50, 20
    assert table.vector("zebra").tolist() == [35, 4]
    assert table.encode(pd.DataFrame({"size": [np.nan], "legs": [3]}, ["ass"])).vector(
        "ass"
    ).tolist() == [35, 3]
    marked = ClassTable.read(path, missing="column", seen=SEEN)
    assert marked.attributes == ("size", "legs", "size missing", "legs missing")
    assert marked.vector("cow").tolist() == [35, 4, 1, 0]
    assert marked.vector("horse").tolist() == [60, 4, 0, 0]
    more = ClassTable.read(write(tmp_path / "b.csv", "n,legs,size\nass,3,"), like=marked)
    assert more.vector("ass").tolist() == [35, 3, 1, 0]


def test_minus_one_is_missing_only_where_it_can_be_nothing_else(tmp_path: Path) -> None:
    def read(cells: list[list[float]], missing: str) -> list[list[float]]:
        frame = pd.DataFrame(cells, [*"abc"], [*"xy"])
        return ClassTable.from_frame(frame, missing=missing).vectors.tolist()

    percent = [[10.0, -1.0], [20.0, 40.0], [30.0, 50.0]]
    assert read(percent, "error") == percent
    assert read(percent, "mean") == [[10, 45], [20, 40], [30, 50]]
    signs = [[1.0, -1.0], [0.0, 1.0], [-1.0, 1.0]]
    assert read(signs, "mean") == signs
    below = [[-2.0, -1.0], [20.0, 40.0], [30.0, 50.0]]
    assert read(below, "mean") == below


def test_a_missing_text_is_the_mean_of_others(tmp_path: Path) -> None:
    lines = "".join(f'{k},"{t}"\n' for k, t in TEXTS.items() if k != "lion")
    path = write(tmp_path / "a.csv", f"name,looks\n{lines}lion,\n")
    with pytest.raises(InputError, match=r"'lion' has no text in column 'looks' \(1 such cell"):
        ClassTable.read(path)
    table = ClassTable.read(path, missing="column", seen=SEEN)
    others = [name for name in SEEN if name != "lion"]
    mean = table.select(others).vectors[:, :-1].mean(axis=0)
    np.testing.assert_allclose(table.vector("lion")[:-1], mean, atol=1e-6)
    assert table.vectors[:, -1].tolist() == [0, 0, 0, 0, 0, 0, 1]


# -- what cannot be used ------------------------------------------------------------------------

TABLE = ClassTable.from_text(TEXTS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassTable.from_text(["a", "b"], ["one text"]), "2 names of classes but 1 texts"),
        (lambda: ClassTable.from_text(["a", "b"]), "takes a mapping"),
        (lambda: ClassTable.from_text({"a": "red", "b": 3}), "'b' is described by a int"),
        (lambda: ClassTable.from_text({"a": "red cat", "b": "dog", "c": " "}), "'c' has no text"),
        (lambda: ClassTable.from_text({"a": "red cat"}), "there is one text alone"),
        (lambda: ClassTable.from_text(TEXTS, encoder=3), "a name such as 'tfidf'"),
        (lambda: ClassTable.from_text({**TEXTS, "x": "with"}, seen=SEEN), "'x' .* has no word"),
        (lambda: TABLE.encode({"x": "xylophone"}), "class 'x' in column 'text' has no word"),
        (lambda: TABLE.encode({"x": "xx", "y": "yy"}), "classes 'x', 'y' in column 'text' has no"),
        (lambda: TABLE.encode({"x": {"looks": "large"}}), "different: 'looks', 'text'"),
        (lambda: TABLE.encode({"x": {"text": "large", "legs": 4}}), "1 columns of numbers"),
        (lambda: ClassTable(["a"], [[1.0]]).encode({"b": "large"}), "by numbers alone"),
        (lambda: ClassTable.of({"a": {"x": "red", "n": 1}, "b": {"x": 3, "n": 1}}), "'b' has 3"),
        (lambda: ClassTable.of({"a": "red", "b": [1, 2]}), "'b' is described by a list"),
    ],
)
def test_error_names_what_is_wrong(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name,a\nx,caf\xe9 noir\n", "not a UTF-8 text file"),
        (b"name,a\nx,red cat\ny,3\n", "line 2: column 'a' holds 'red cat' instead of a number"),
        (b"name,a\nx,\"1,5\"\ny,\"2,5\"\n", "line 2: column 'a' holds '1,5'"),
        (b"name,a\nx,red cat\nx,red dog\n", "share a name: 'x'"),
        (b"name,a\nx,the and\ny,the and\n", "column 'a': the texts hold no words that describe"),
        (b"name,a,b\nx,1,\ny,2,\n", "class 'x' has no value in column 'b'"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        ClassTable.read(path)
    assert str(path) in str(caught.value)


def test_a_column_of_which_nothing_is_known(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,a,b\nx,1,\ny,2,\nz,3,7\n")
    with pytest.raises(InputError, match="column 'b' has no value of a seen class"):
        ClassTable.read(path, missing="mean", seen=["x", "y"])


def test_a_recipe_of_a_stranger_is_checked() -> None:
    assert TABLE.recipe is not None
    part = TABLE.recipe.parts["text"]
    assert part.encoding is not None
    for bad in (
        Recipe({}),
        Recipe({"text": part, "more": part}),
        Recipe({"text": replace(part, width=part.width + 1)}),
        Recipe({"text": replace(part, columns=None)}),
        Recipe({"text": replace(part, scale=0.0)}),
        Recipe({"text": replace(part, marked=[0])}),
        Recipe({"text": replace(part, fill=np.ones(3))}),
        Recipe({"text": replace(part, encoding=replace(part.encoding, weights=np.ones(2)))}),  # pyright: ignore
        Recipe({"text": replace(part, encoding="tfidf")}),  # pyright: ignore
        Recipe({"text": Description(["a"], 1)}),
        Recipe({"text": part}, minus_one=1),  # pyright: ignore
        Recipe([part]),  # pyright: ignore
        "recipe",
    ):
        with pytest.raises(InputError):
            ClassTable(TABLE.names, TABLE.vectors, TABLE.attributes, None, bad)  # pyright: ignore
