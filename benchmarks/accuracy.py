"""Accuracy on classes that took no part in training: ESZSL and the eight variants of JLSE.

    python -m benchmarks.accuracy [--data "CUB efflite0"] [--full]

Every method has its default parameters, which were chosen on held-out seen classes only. Without
--full only ESZSL and the whole method, variant (viii), are run.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.data import DATASETS, load
from unseen import ESZSL, JLSE, evaluate
from unseen.cli.output import percent, show
from unseen.estimators import ZeroShotClassifier

# What the paper reports on CUB with VGG-19 features, in percent.
PAPER_CUB = {
    "(i)": "39.0", "(ii)": "41.1", "(iii)": "38.9", "(iv)": "40.9",
    "(v)": "39.9", "(vi)": "42.1", "(vii)": "39.7", "(viii)": "41.8",
}  # fmt: skip


def variants() -> dict[str, JLSE]:
    """The rows (i) to (viii) of the paper's recognition table."""
    numerals = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii")
    found = {}
    for joint in (False, True):
        for test in (False, True):
            for decision in (1, 2):
                numeral = numerals[4 * joint + 2 * test + decision - 1]
                found[f"({numeral})"] = JLSE(
                    max_iter=JLSE().max_iter if joint else 0,
                    test_embedding="algorithm 4" if test else "init",
                    decision=decision,
                    calibration=None,
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", choices=DATASETS, action="append")
    parser.add_argument("--full", action="store_true", help="all eight variants")
    options = parser.parse_args()
    chosen = variants() if options.full else {"(viii)": variants()["(viii)"]}
    methods: dict[str, ZeroShotClassifier] = {"ESZSL": ESZSL()}
    methods |= {f"JLSE {row}": model for row, model in chosen.items()}
    for name in options.data or DATASETS:
        data = load(name)
        X, y = data.training_set()
        lines = []
        for method, model in methods.items():
            start = time.perf_counter()
            model.fit(X, y, classes=data.classes)
            seconds = time.perf_counter() - start
            result = evaluate(model, data)
            paper = PAPER_CUB.get(method.removeprefix("JLSE "), "-") if "vgg" in name else "-"
            lines.append([
                method, percent(result.per_class_accuracy),
                percent(result.mean_average_precision), paper, f"{seconds:.1f}",
                f"{result.seconds:.1f}",
            ])  # fmt: skip
        columns = ["method", "per-class top-1", "mAP", "paper, VGG-19", "fit s", "predict s"]
        show(f"{name}: {y.size:,} training rows, default parameters", columns, lines)


if __name__ == "__main__":
    main()
