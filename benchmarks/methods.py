"""Every method on CUB, tuned alike by held-out classes: accuracy beside published figures, cost.

    python -m benchmarks.methods [DATA]... [--budget SECONDS] [--out FOLDER]

The published figures are per-class top-1 accuracies on CUB's proposed split with ResNet-101
features, from Xian, Lampert, Schiele and Akata, "Zero-shot learning: a comprehensive evaluation of
the good, the bad and the ugly", TPAMI 2019. A run that was stopped resumes where it was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from unseen.apps.bench.jobs import Job, plan
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run
from unseen.apps.bench.tables import method_name
from unseen.apps.cli.output import show
from unseen.estimators import available

PUBLISHED = {
    "ale": 54.9, "sje": 53.9, "devise": 52.0, "latem": 49.3, "eszsl": 53.9, "sse-int": 43.9,
    "sse-relu": 43.9, "sae": 33.3, "dap": 40.0, "conse": 34.3, "sync": 55.6,
}  # fmt: skip
COLUMNS = (
    "method", "top-1 %", "published", "mAP %", "tune s", "fit s (aim 60)", "MB above X",
    "aim: 2 X + 200",
)  # fmt: skip


def measure(data: str, budget: float, log: Log) -> list[dict[str, Any]]:
    """One trial of every method that is installed."""
    jobs = plan([data], available(), trials=1, tuning="holdout", budget=budget)
    failed = run(jobs, log, lambda job, done: _tell(job, done, len(jobs)))
    for job, reason in failed.items():
        sys.stderr.write(f"{job.method} failed: {reason}\n")
    return log.records(job.key(job.method) for job in jobs)


def _tell(job: Job, done: int, total: int) -> None:
    sys.stderr.write(f"{done + 1} of {total}: {job.data}, {job.method}\n")


def line(record: dict[str, Any]) -> list[str]:
    published = PUBLISHED.get(record["method"])
    return [
        method_name(record["method"]),
        f"{100 * record['per_class_accuracy']:.1f}",
        "-" if published is None else f"{published:.1f}",
        f"{100 * record['mean_average_precision']:.1f}",
        f"{record['tune_seconds']:.0f}",
        f"{record['fit_seconds']:.1f}",
        f"{record['peak_memory_mb']:.0f}",
        f"{2 * record['X_mb'] + 200:.0f}",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    parser.add_argument("data", nargs="*", default=["CUB efflite0", "CUB vgg_fc7"])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    given = parser.parse_args()
    for name in given.data:
        records = measure(name, given.budget, Log(given.out / "results.jsonl"))
        show(f"{name}: every method, one trial", COLUMNS, [line(r) for r in records])
