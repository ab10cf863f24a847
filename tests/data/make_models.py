"""Writes the model files of tests/storage/test_old_formats.py.

    python -m tests.data.make_models [METHOD]...

To be run once for each new format, with the version that introduces it. Files of older formats
stay as they are: they stand for those that users have. A method that cannot be fitted here, for
want of an extra, is read from the file of the format before and saved again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from unseen import load, make_zero_shot
from unseen.estimators import METHODS, available
from unseen.storage.models import FORMAT

FOLDER = Path(__file__).parent / "models"
SMALL = {
    "jlse": {"n_target_atoms": 3},
    "kernel-jlse": {"n_target_atoms": 3},
    "deep": {"n_hidden": 8, "n_codes": 4},
}


def main(names: list[str]) -> None:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    X, y = data.training_set()
    told = FOLDER / f"format{FORMAT}.json"
    expected = json.loads(told.read_text(encoding="utf-8"))["methods"] if told.exists() else {}
    for name in names or METHODS:
        if name in available():
            model = METHODS[name](**SMALL.get(name, {})).fit(X, y, classes=data.classes)
        else:
            model = load(FOLDER / f"format{FORMAT - 1}-{name}.unseen")
        model.save(FOLDER / f"format{FORMAT}-{name}.unseen")
        expected[name] = {
            "classes": model.predict(data.X[::4], "all").tolist(),
            "scores": model.similarities(data.X[::4], "all").tolist(),
        }
    content = {"rows": data.X[::4].tolist(), "methods": expected}
    told.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
