"""Model files that older versions wrote are read, and say what they said then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from unseen import old_formats, tensors
from unseen.estimators import METHODS
from unseen.parts import plain_parameters
from unseen.storage import FORMAT, KIND

FOLDER = Path(__file__).parent / "data" / "models"
FILES = sorted(FOLDER.glob("format*-*.unseen"))
# JLSE has the switches of the first format still: its file is written when it has parts.
NOT_YET = {"format2-jlse"}


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
    y = np.array(6 * (seen + unseen_))
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
    wanted = {f"format{k}-{name}" for k in range(1, FORMAT + 1) for name in METHODS}
    assert wanted - NOT_YET <= known


# -- what became of the parameters ----------------------------------------------------------------

SWITCHES = {
    "unit_rows": "row_scaler__unit_length",
    "center": "row_scaler__center",
    "center_classes": "class_scaler__center",
    "unit_classes": "class_scaler__unit_length",
}
FIRST = [path for path in FILES if path.stem.startswith("format1-") and "jlse" not in path.stem]


def manifest_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tensors.read(file, KIND)[0]


@pytest.mark.parametrize("path", FIRST, ids=lambda path: path.stem)
def test_switches_of_the_first_format_arrive_in_the_scalers(path: Path, tmp_path: Path) -> None:
    """Each of them changed in turn, in a file that is read as any other."""
    old = manifest_of(path)["parameters"]
    given = [name for name in SWITCHES if name in old]
    assert len(given) == {"format1-costa": 3, "format1-dap": 2, "format1-iap": 2}.get(path.stem, 4)
    usual = plain_parameters(unseen.load(path))
    assert all(usual[SWITCHES[name]] is True for name in given)
    assert unseen.load(path).get_params()["row_scaler"] is None
    for name in given:
        changed = copy_with(path, {name: False}, tmp_path / "changed")
        model = unseen.load(changed)
        assert plain_parameters(model) == usual | {SWITCHES[name]: False}
        assert getattr(model, SWITCHES[name].partition("__")[0]) is not None
        model.save(tmp_path / "again")
        assert plain_parameters(unseen.load(tmp_path / "again")) == plain_parameters(model)


def copy_with(path: Path, parameters: dict[str, Any], out: Path) -> Path:
    """A copy of a model file with other parameters."""
    with path.open("rb") as file:
        manifest, arrays = tensors.read(file, KIND)
    manifest["parameters"] |= parameters
    kept = tensors.Arrays()
    kept.update(arrays)
    tensors.write(out, KIND, manifest, kept)
    return out


def test_an_old_file_without_a_switch_is_refused(tmp_path: Path) -> None:
    manifest = manifest_of(FOLDER / "format1-eszsl.unseen")
    del manifest["parameters"]["center"]
    with pytest.raises(KeyError):
        old_formats.upgraded(manifest)


def test_the_present_format_is_left_alone() -> None:
    manifest = {"format": FORMAT, "method": "eszsl", "parameters": {"row_penalty": 1.0}}
    assert old_formats.upgraded(manifest) == manifest
