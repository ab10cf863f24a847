"""A joint model on the command line: pictures and prompts in one space, and the method clip."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="Pillow is not installed")

from tests.common.command import run_unseen
from tests.encoders import tiny
from tests.encoders.shapes import NAMES, UNSEEN, photos


def test_a_joint_model_from_embed_to_predict(tmp_path: Path) -> None:
    """Weights are random, so nothing is said of accuracy."""
    folder = tiny.joint(tmp_path / "clip", "clip")
    photos(tmp_path / "photos", 2)
    words = "".join(f"{name},a photo of a {name}\n" for name in NAMES)
    (tmp_path / "words.csv").write_text(f"name,look\n{words}")
    made = run_unseen(
        "embed", tmp_path / "photos", "--classes", tmp_path / "words.csv", "--images", folder,
        "--text", folder, "--template", "{look}", "--template", "a {name}", "--offline",
        "--out", tmp_path / "data",
    )  # fmt: skip
    assert made.code == 0, made
    (tmp_path / "data" / "unseen.txt").write_text("\n".join(UNSEEN))
    model = tmp_path / "m.unseen"
    fitted = run_unseen("fit", tmp_path / "data", "--method", "clip", "--out", model)
    assert fitted.code == 0, fitted
    measured = run_unseen("evaluate", model, tmp_path / "data", "--json")
    assert 0 <= measured.json["per_class_accuracy"] <= 1
    # A class that comes later is encoded as those of training were.
    (tmp_path / "later.csv").write_text("name,look\ngreen photo,a green square\n")
    found = run_unseen(
        "predict", model, tmp_path / "photos", "--classes", tmp_path / "later.csv",
        "--top", 5, "--json",
    )  # fmt: skip
    assert found.code == 0, found
    assert "green photo" in found.json[0].values()
    compared = run_unseen(
        "compare", tmp_path / "data", "--method", "clip", "--method", "eszsl", "--splits", 2
    )
    assert compared.code == 0, compared
    assert "clip" in compared.out
