"""Model files that older versions wrote are read, and say what they said then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import unseen
from unseen.estimators import METHODS
from unseen.storage import FORMAT

FOLDER = Path(__file__).parent / "data" / "models"
FILES = sorted(FOLDER.glob("format*-*.unseen"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_gives_its_old_predictions(path: Path) -> None:
    version, _, method = path.stem.partition("-")
    content = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    rows, expected = np.array(content["rows"], np.float32), content["methods"][method]
    model = unseen.load(path)
    assert type(model) is METHODS[method]
    assert model.predict(rows, "all").tolist() == expected["classes"]
    # Another machine adds up in another order.
    scores = model.similarities(rows, "all")
    assert np.allclose(scores, expected["scores"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_can_be_evaluated_and_saved(path: Path, tmp_path: Path) -> None:
    """What a file of the first format does not tell is not asked for."""
    model = unseen.load(path)
    seen, unseen_ = model.seen_classes_.tolist(), model.unseen_classes_.tolist()
    y = np.array(3 * (seen + unseen_))
    X = np.random.default_rng(0).normal(size=(y.size, model.n_features_in_))
    rows = np.arange(len(seen))
    data = unseen.ZeroShotDataset("old", X, y, model.class_table_, np.array(unseen_), rows)
    result = unseen.evaluate(model, data)
    assert result.generalized is not None
    model.save(tmp_path / "again")
    again = unseen.evaluate(unseen.load(tmp_path / "again"), data)
    assert again.by_class == result.by_class


def test_there_are_files_of_every_format_and_method() -> None:
    known = {path.stem for path in FILES}
    assert {f"format{k}-{name}" for k in range(1, FORMAT + 1) for name in METHODS} <= known
