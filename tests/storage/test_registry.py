"""Classes in model files: words alone, those of other people's modules among them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import unseen
from tests.storage.homemade import MeanRows, Softer
from unseen import ESZSL, InputError, estimators, make_zero_shot
from unseen.estimators import METHODS, method
from unseen.storage.values import known_class
from unseen.support import registry

ROOT = Path(__file__).resolve().parents[2]
DATA = make_zero_shot(4, 2, rows_per_class=3, n_features=5, n_attributes=4, n_factors=3)


def fitted(model: Any) -> Any:
    return model.fit(*DATA.training_set(), classes=DATA.classes)


FRESH = """
import sys
import unseen
try:
    unseen.load(sys.argv[1])
except unseen.InputError as error:
    print(error)
print(unseen.load(sys.argv[2]))
import tests.storage.homemade
found = unseen.load(sys.argv[1])
print(type(found).__name__, found.ridge, type(found.row_scaler).__name__)
"""


def test_a_method_of_somebody_else_is_loaded_once_its_module_is_imported(tmp_path: Path) -> None:
    """In a fresh Python, where a method of the library needs no import."""
    model = fitted(MeanRows(ridge=0.5, row_scaler=Softer(center=False)))
    model.save(tmp_path / "mine")
    fitted(ESZSL()).save(tmp_path / "eszsl")
    command = [sys.executable, "-c", FRESH, str(tmp_path / "mine"), str(tmp_path / "eszsl")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    refused, *read = done.stdout.splitlines()
    assert "': import tests.storage.homemade first, if you trust it" in refused
    assert read == ["ESZSL()", "MeanRows 0.5 Softer"]
    loaded = unseen.load(tmp_path / "mine")
    assert loaded.similarities(DATA.X).tobytes() == model.similarities(DATA.X).tobytes()


def test_methods_are_looked_up_by_name() -> None:
    assert len(METHODS) == len(list(METHODS)) == len(set(METHODS.values()))
    assert "sae" in METHODS
    assert "SAE" not in METHODS
    assert METHODS["sae"] is method("SAE") is estimators.SAE
    assert not hasattr(estimators, "Unknown")


def test_a_class_inside_a_function_is_not_saved(tmp_path: Path) -> None:
    class Inside(MeanRows):
        pass

    with pytest.raises(InputError, match="Inside could not be loaded"):
        fitted(Inside()).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="inside a function"):
        registry.register("inside")(Inside)


def test_a_class_that_is_defined_again_replaces_the_former(tmp_path: Path) -> None:
    """As when a cell of a notebook is run twice; what was fitted before is of another class."""
    space = {"__name__": "notebook", "MeanRows": MeanRows}
    exec("class Mine(MeanRows): pass", space)
    old = fitted(space["Mine"]())
    exec("class Mine(MeanRows): pass", space)
    with pytest.raises(InputError, match="define it once"):
        old.save(tmp_path / "model")
    fitted(space["Mine"]()).save(tmp_path / "model")
    assert type(unseen.load(tmp_path / "model")) is space["Mine"]


def test_a_word_stands_for_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_places", dict(registry._places))
    registry.register("mean rows")(MeanRows)
    registry.register("mean rows")(MeanRows)
    assert registry.word_of(MeanRows) == "mean rows"
    for word in ("mean rows", "eszsl", "row scaler", "latent model", "class table"):
        with pytest.raises(InputError, match="already stands for"):
            registry.register(word)(Softer)
    assert registry.class_of("eszsl") is ESZSL is METHODS["eszsl"]
    assert registry.word_of(ESZSL) == "eszsl"


@pytest.mark.parametrize(
    ("word", "way_out"),
    [("os:system", "import os first"), ("later method", "update unseen"), ("x:\n" * 999, "'x:")],
)
def test_an_unknown_class_is_told_in_one_short_line(word: str, way_out: str) -> None:
    with pytest.raises(InputError, match=f"is not known here: {way_out}|{way_out}") as caught:
        known_class(word)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize("word", ["os:system", "sys", "builtins:eval", "json:JSONDecoder"])
def test_only_what_is_registered_is_found(word: str) -> None:
    assert registry.class_of(word) is None
