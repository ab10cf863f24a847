"""Writes the model files of tests/test_old_formats.py: python -m tests.data.make_models

To be run once for each new format, with the version that introduces it. Files of older formats
stay as they are: they stand for those that users have.
"""

from __future__ import annotations

import json
from pathlib import Path

from unseen import make_zero_shot
from unseen.estimators import METHODS
from unseen.storage import FORMAT

FOLDER = Path(__file__).parent / "models"
SMALL = {
    "jlse": {"n_target_atoms": 3, "n_landmarks": 5, "max_iter": 1},
    "deep": {"n_hidden": 8, "n_codes": 4},
}


def main() -> None:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    X, y = data.training_set()
    expected = {}
    for name, kind in METHODS.items():
        model = kind(**SMALL.get(name, {})).fit(X, y, classes=data.classes)
        model.save(FOLDER / f"format{FORMAT}-{name}.unseen")
        expected[name] = {
            "classes": model.predict(data.X[::4], "all").tolist(),
            "scores": model.similarities(data.X[::4], "all").tolist(),
        }
    content = {"rows": data.X[::4].tolist(), "methods": expected}
    (FOLDER / f"format{FORMAT}.json").write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
