"""CLIPZeroShot: prompts and pictures in one space, without training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unseen import ClassTable, compare, load, make_zero_shot
from unseen.datasets.class_words import prompt_table
from unseen.errors import InputError, TrustWarning
from unseen.estimators import METHODS, CLIPZeroShot, method

TABLE = ClassTable.from_dict({"up": [0.0, 2.0], "right": [3.0, 0.0], "both": [1.0, 1.0]})


def test_a_case_by_hand() -> None:
    model = CLIPZeroShot().fit(classes=TABLE)
    rows = np.array([[0.1, 5.0], [2.0, 0.1], [3.0, 3.1], [0.0, 0.0]])
    assert model.predict(rows[:3]).tolist() == ["up", "right", "both"]
    assert model.classes_.tolist() == ["both", "right", "up"]
    half = np.sqrt(0.5)
    np.testing.assert_allclose(model.similarities([[0.0, 9.0]], ["up", "both"]), [[1, half]])
    # A row of zeros is as far from every class: the first of them is taken.
    np.testing.assert_array_equal(model.similarities(rows[3:]), np.zeros((1, 3)))
    with pytest.warns(TrustWarning, match="several candidates fit 1 of 1 row equally well"):
        assert model.predict(rows[3:]).tolist() == ["both"]


def test_rows_change_no_score() -> None:
    rows = np.random.default_rng(0).normal(size=(8, 2))
    alone = CLIPZeroShot().fit(classes=TABLE)
    fitted = CLIPZeroShot().fit(rows, ["up", "right"] * 4, classes=TABLE)
    assert fitted.classes_.tolist() == ["both"]
    np.testing.assert_array_equal(alone.similarities(rows, "all"), fitted.similarities(rows, "all"))
    new = alone.reveal({"down": [0.0, -1.0]})
    assert new.predict([[0.0, -3.0]]).tolist() == ["down"]


def test_reasons_and_probabilities_without_a_single_row() -> None:
    model = CLIPZeroShot().fit(classes=TABLE)
    found = model.explain([0.1, 5.0])
    assert (found.name, found.classes) == ("up", ())
    assert found.rest == pytest.approx(found.score)
    assert [(a.attribute, a.is_above) for a in found.attributes][-1] == ("column 0", False)
    assert "seen classes" not in str(found)
    assert len(found.tables()) == 2
    with pytest.raises(InputError, match="fitted without rows, so there are no seen classes"):
        model.calibrate_seen([[0.1, 5.0]], ["up"])


def test_it_is_saved_without_a_single_row(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(8, 2))
    model = CLIPZeroShot().fit(classes=TABLE)
    model.save(tmp_path / "m.unseen")
    again = load(tmp_path / "m.unseen")
    assert type(again) is CLIPZeroShot
    np.testing.assert_array_equal(again.similarities(rows), model.similarities(rows))


def test_it_is_taken_only_where_it_is_named() -> None:
    assert method("CLIP") is CLIPZeroShot
    assert "clip" not in METHODS
    data = make_zero_shot()
    X, y = data.training_set()
    with pytest.raises(InputError, match="embed both by one joint model"):
        CLIPZeroShot().fit(X, y, classes=data.classes)
    with pytest.raises(InputError, match="needs a class table"):
        CLIPZeroShot().fit()


def test_it_stands_in_the_same_table_as_other_methods() -> None:
    data = make_zero_shot()
    X, y = data.training_set()
    prototypes = np.array([X[y == name].mean(axis=0) for name in data.seen])
    table = ClassTable(data.seen, prototypes)
    found = compare(X, y, table, ["clip", "eszsl"], n_splits=2)
    assert {one.method for one in found.methods} == {"clip", "eszsl"}


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_prompts_of_a_joint_model(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    from tests.encoders import tiny
    from tests.encoders.shapes import picture
    from unseen.encoders.images import ImageEncoder

    folder = tiny.joint(tmp_path / kind, kind)
    names = ["red disc", "green square", "blue cross"]
    table = prompt_table(names, folder, ["a photo of a {name}", "a {name}"])
    np.testing.assert_allclose(np.linalg.norm(table.vectors, axis=1), 1)
    X = ImageEncoder(folder).transform([picture(name) for name in names])
    model = CLIPZeroShot().fit(classes=table)
    assert set(model.predict(X)) <= set(names)
    described = prompt_table(dict.fromkeys(names, "round"), folder, ["{name} {description}"])
    assert not np.allclose(described.vectors, table.vectors)
    with pytest.raises(InputError, match=r"has \{names\}"):
        prompt_table(names, folder, ["a {names}"])
