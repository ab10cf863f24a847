"""Model files that older versions wrote are read, and say what they said then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from unseen import InputError, KernelJLSE
from unseen.estimators import METHODS
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.storage import old_formats, tensors
from unseen.storage.models import FORMAT, KIND
from unseen.support.parameters import plain_parameters
from unseen.training.pairwise import Algorithm1

FOLDER = Path(__file__).parents[1] / "data" / "models"
FILES = sorted(FOLDER.glob("format*-*.unseen"))
# Files of JLSE in its first form, with other parameters than the defaults of that time.
VARIANTS = [path for path in FILES if path.stem.startswith("format1-jlse-")]
# Methods that came later, by the first format in which there can be old files of them.
NEW = {
    2: {"kernel-jlse"},
    FORMAT + 1: {"gaussian-match", "sync", "exem", "gfzsl", "ensemble", "feature-vae"},
}


def kind_of(version: str, method: str) -> type:
    """The class that a file is of now: what JLSE was in the first format is KernelJLSE."""
    is_first = version == "format1" and method.startswith("jlse")
    return METHODS["kernel-jlse" if is_first else method]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_gives_its_old_predictions(path: Path) -> None:
    version, _, method = path.stem.partition("-")
    content = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    rows, expected = np.array(content["rows"], np.float32), content["methods"][method]
    model = unseen.load(path)
    assert type(model) is kind_of(version, method)
    old, scores = np.array(expected["scores"]), model.similarities(rows, "all")
    names, found = np.sort(model.class_table_.names), model.predict(rows, "all")
    if is_saturating(model) and version == "format1":
        # There was nothing to break ties by then.
        at = np.searchsorted(names, found)[:, None]
        assert np.allclose(np.take_along_axis(old, at, 1)[:, 0], old.max(axis=1), atol=1e-5)
        assert (scores >= old - 1e-4).all()
        assert (scores <= old + 5e-3).all()
        return
    assert found.tolist() == expected["classes"]
    # Another machine adds up in another order.
    near = np.full(names.size, 1e-5)
    if "jlse" in method:
        # Codes of unseen classes are found to a duality gap, and the way to it may change.
        near[np.isin(names, model.unseen_classes_)] = 5e-4 * np.ptp(old)
    assert (np.abs(scores - old) <= near + 1e-4 * np.abs(old)).all()


def is_saturating(model: Any) -> bool:
    return isinstance(model, KernelJLSE) and model.latent_.link == "saturating"


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
    for k in range(1, FORMAT + 1):
        later = set().union(*(NEW.get(j, set()) for j in range(k + 1, FORMAT + 2)))
        assert {f"format{k}-{name}" for name in METHODS if name not in later} <= known


# -- what became of the parameters ----------------------------------------------------------------

SWITCHES = {
    "unit_rows": "row_scaler__unit_length",
    "center": "row_scaler__center",
    "center_classes": "class_scaler__center",
    "unit_classes": "class_scaler__unit_length",
}
FIRST = [path for path in FILES if path.stem.startswith("format1-") and "jlse" not in path.stem]


def manifest_of(path: Path) -> dict[str, Any]:
    return tensors.read(path, KIND)[0]


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
    manifest, arrays = tensors.read(path, KIND)
    manifest["parameters"] |= parameters
    kept = tensors.Arrays()
    kept.update(arrays)
    tensors.write(out, KIND, manifest, kept)
    return out


def test_an_old_file_without_a_switch_is_refused(tmp_path: Path) -> None:
    manifest = manifest_of(FOLDER / "format1-eszsl.unseen")
    del manifest["parameters"]["center"]
    with pytest.raises(KeyError):
        old_formats.upgraded(manifest, {})


def test_the_present_format_is_left_alone() -> None:
    manifest = {"format": FORMAT, "method": "eszsl", "parameters": {"row_penalty": 1.0}}
    assert old_formats.upgraded(manifest, {}) == manifest


# -- what became of JLSE --------------------------------------------------------------------------


def test_variants_of_jlse_become_parts() -> None:
    found = {path.stem.removeprefix("format1-jlse-"): unseen.load(path) for path in VARIANTS}
    kinds = {name: type(model.testing) for name, model in found.items()}
    assert kinds["init"] is kinds["init-1"] is DataFit
    assert kinds["pairwise"] is kinds["pairwise-init"] is Algorithm3
    assert kinds["linear"] is Algorithm4
    assert type(found["coupled"].training) is Algorithm1
    assert [name for name, model in found.items() if model.latent_.is_coupled] == ["coupled"]
    assert found["calibrated"].seen_penalty_ == 0.7
    assert found["calibrated"].classes_.size == 7, "it was generalized"
    assert not hasattr(found["linear"], "seen_penalty_")
    assert found["linear"].latent_.spaces.row_kernel is None
    assert found["init"].latent_.spaces.row_kernel is not None
    assert (found["linear"].latent_.source_set, found["paper"].latent_.source_set) == (
        "free", "simplex",
    )  # fmt: skip
    assert found["paper"].latent_.away_bias == found["paper"].latent_.b == 0
    assert found["init"].latent_.away_bias < found["init"].latent_.b
    assert found["matched"].pairs_ == {"named": True, "disjoint": False}


CHANGES: dict[str, dict[str, Any]] = {
    "data fit": {"test_embedding": "init"},
    "pairwise": {"inference": "pairwise", "training": "instance", "ranking": 0.0},
    "pairwise without Algorithm 4": {"inference": "pairwise", "test_embedding": "init"},
    "saturating": {"link": "saturating"},
    "simplex": {"source_set": "simplex"},
    "free": {"source_set": "free"},
    "hinge": {"loss": "hinge"},
    "decision 1": {"decision": 1},
    "no margin": {"test_margin": None},
    "trained by pairs": {"training": "pairwise"},
    "ranked": {"ranking": 0.5, "early_stopping": True},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_choice_of_the_first_jlse_is_read(change: dict[str, Any], tmp_path: Path) -> None:
    model = unseen.load(copy_with(FOLDER / "format1-jlse.unseen", change, tmp_path / "changed"))
    rows = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    for candidates in ("all", "seen", "unseen"):
        assert np.isfinite(model.similarities(rows, candidates)).all()
    model.save(tmp_path / "again")
    again = unseen.load(tmp_path / "again")
    assert plain_parameters(again) == plain_parameters(model)
    np.testing.assert_array_equal(again.similarities(rows), model.similarities(rows))


def test_a_first_jlse_can_be_fitted_anew() -> None:
    """As KernelJLSE is, with the sizes and λ that it had."""
    model = unseen.load(FOLDER / "format1-jlse.unseen")
    data = unseen.make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    model.fit(*data.training_set(), classes=data.classes)
    assert model.latent_.D.shape[1] == 3
    assert model.latent_.source_set == "simplex"


@pytest.mark.parametrize(
    "change", [{"source_set": "ball"}, {"loss": "logistic"}, {"link": "log"}, {"decision": 3}]
)
def test_a_choice_that_jlse_never_had_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = copy_with(FOLDER / "format1-jlse.unseen", change, tmp_path / "changed")
    with pytest.raises(InputError, match="cannot be used"):
        unseen.load(path)
