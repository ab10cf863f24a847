"""Speed and memory of JLSE, each figure beside its rival in the same run.

    python -m benchmarks.solvers [small] [similarity] [fit] [predict] [growth]

A "pass" is the time of Zs @ W @ Zt.T and its adjoint in the same dtype, measured around each
figure. Compilation is not counted: every function runs once on a small problem first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data import load
from unseen import ESZSL, JLSE, make_zero_shot
from unseen.cli.output import show
from unseen.pairs import pair_weights
from unseen.preprocessing import RowScaling
from unseen.solvers.similarity import fit_similarity
from unseen.solvers.source_codes import fit_source_codes
from unseen.training.initialize import target_dictionary
from unseen.training.rows import TrainingRows


def seconds(run: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """The median wall time of a few runs, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


def small() -> None:
    """W against LinearSVC(loss="hinge") on explicit products: C 20, N 2000, 20 x 50."""
    rng = np.random.default_rng(0)
    C, N, hs, ht = 20, 2000, 20, 50
    Zs, y = rng.dirichlet(np.full(hs, 0.3), C), rng.integers(0, C, N)
    Zt = rng.standard_normal((C, ht))[y] + 2.0 * rng.standard_normal((N, ht))
    Zt /= np.linalg.norm(Zt, axis=1, keepdims=True)
    w = pair_weights(N, C, "balanced")
    F = np.einsum("ja,ib->jiab", Zt, Zs).reshape(N * C, -1)
    own = np.arange(C) == y[:, None]
    signs, omega = np.where(own, 1, -1), np.where(own, w.pos, w.neg)
    fit_similarity(Zs, Zt[:100], y[:100], lam=1e-3, w_pos=w.pos, w_neg=w.neg, tol=0.1)
    lines = []
    for lam in (1e-4, 1e-5):
        ours_s, ours = seconds(
            lambda lam=lam: fit_similarity(Zs, Zt, y, lam=lam, w_pos=w.pos, w_neg=w.neg), 5
        )
        svc = LinearSVC(loss="hinge", C=1 / lam, fit_intercept=False, max_iter=1000)
        svc_s, _ = seconds(lambda svc=svc: svc.fit(F, signs.ravel(), omega.ravel()))
        W = svc.coef_.reshape(ht, hs).T
        slack = np.maximum(1 - signs * (Zt @ W.T @ Zs.T), 0)
        rival = float(np.sum(omega * slack) + lam / 2 * np.sum(W**2))
        lines.append([
            f"{lam:g}", f"{1e3 * ours_s:.0f} ms", f"{svc_s:.2f} s", f"{svc_s / ours_s:.0f} x",
            f"{ours.objective / min(rival, ours.objective) - 1:.1e}",
        ])  # fmt: skip
    columns = ["λ_W", "ours", "LinearSVC", "faster (aim 50 x)", "objective above the better"]
    show("W at C 20, N 2000, 20 x 50", columns, lines)


def cub_codes() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Class vectors, their simplex codes, row codes (300) and labels of CUB's seen classes."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    rows = TrainingRows(X, RowScaling.fit(X, unit_length=True, center=False))
    Zt = rows.project(target_dictionary(rows, 300, 0))
    S = data.classes.select(data.seen).vectors
    S = S / np.linalg.norm(S, axis=1, keepdims=True)
    Zs = fit_source_codes(S @ S.T, S @ S.T, lam1=0.1, lam2=0.3).value.astype(np.float32)
    return S, Zs, Zt, np.searchsorted(data.seen, y)


def one_pass(Zs: np.ndarray, Zt: np.ndarray) -> float:
    W = np.ones((Zs.shape[1], Zt.shape[1]), Zs.dtype)
    return seconds(lambda: Zs.T @ (Zs @ W @ Zt.T) @ Zt, 9)[0]


def similarity() -> None:
    """W at the size of CUB, in passes."""
    S, Zs, Zt, y = cub_codes()
    w = pair_weights(y.size, len(Zs), "balanced")
    options: dict[str, Any] = {"w_pos": w.pos, "w_neg": w.neg}
    fit_similarity(Zs, Zt[:300], y[:300], lam=1e-3, max_epochs=70, tol=0.5, **options)
    moved = fit_source_codes(S @ S.T, S @ S.T, lam1=0.105, lam2=0.3).value.astype(np.float32)
    noise = np.random.default_rng(0).standard_normal(Zt.shape).astype(np.float32)
    lengths = np.linalg.norm(Zt, axis=1, keepdims=True) / np.float32(np.sqrt(Zt.shape[1]))
    lines = []

    def line(name: str, aim: str, run: Callable[[], Any]) -> Any:
        before = one_pass(Zs, Zt)
        wall, solution = seconds(run)
        size = 0.5 * (before + one_pass(Zs, Zt))
        lines.append([
            name, f"{solution.optimality:.1e}", solution.n_iter, f"{wall:.2f} s",
            f"{1e3 * size:.1f} ms", f"{wall / size:.0f}", aim,
        ])  # fmt: skip
        return solution

    cold = line("λ_W 1e-5, cold", "50", lambda: fit_similarity(Zs, Zt, y, lam=1e-5, **options))
    line("λ_W 1e-5, warm after a small change of both codes", "15", lambda: fit_similarity(
        moved, Zt + 0.01 * noise * lengths, y, lam=1e-5, state=cold.state, **options
    ))  # fmt: skip
    line("λ_W 3e-7, cold, gap 1e-2", "200", lambda: fit_similarity(
        Zs, Zt, y, lam=3e-7, tol=1e-2, **options
    ))  # fmt: skip
    line("λ_W 1e-5, squared hinge, cold", "-", lambda: fit_similarity(
        Zs, Zt, y, lam=1e-5, loss="squared_hinge", **options
    ))  # fmt: skip
    columns = ["W of CUB", "gap", "epochs", "time", "one pass", "passes", "aim"]
    show("W at C 150, N 8,821, 150 x 300, float32, balanced", columns, lines)


def fit() -> None:
    """JLSE().fit against ESZSL().fit on CUB's VGG rows, each in a process of its own."""
    lines = []
    for name in ("ESZSL", "JLSE"):
        out = subprocess.run(
            [sys.executable, "-m", "benchmarks.solvers", "_fit", name],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        lines.append([name, *map(float, out)])
    ratio = lines[1][1] / lines[0][1]
    size = 8821 * 4096 * 4 / 2**20
    rows = [[n, f"{s:.1f} s", f"{m:.0f} MB", f"{m / size:.1f} x"] for n, s, m in lines]
    show("fit on CUB VGG rows (8,821 x 4,096)", ["method", "fit", "peak above X", "of X"], rows)
    allowed = 3 * size + 300
    print(f"JLSE takes {ratio:.1f} times as long as ESZSL (aim: at most 10); "
          f"memory above X aim: at most {allowed:.0f} MB")  # fmt: skip


def fit_once(name: str) -> None:
    """Wall seconds of one fit, and the rise of peak memory above what the data take, in MB."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    classes = data.classes
    del data
    kind = {"ESZSL": ESZSL, "JLSE": JLSE}[name]
    tiny = make_zero_shot(rows_per_class=10)
    kind().fit(*tiny.training_set(), classes=tiny.classes)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # starts the peak anew
    wall, _ = seconds(lambda: kind().fit(X, y, classes=classes))
    print(wall, resident("VmHWM") - before)


def resident(field: str) -> float:
    """Resident memory of this process in MB, now (VmRSS) or at its peak (VmHWM); Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def predict() -> None:
    """Rows a second with Algorithm 4 at the size of CUB, and the time of a single row."""
    data = load("CUB efflite0")
    X, y = data.training_set()
    model = JLSE(max_iter=0, calibration=None).fit(X, y, classes=data.classes)
    rows = data.unseen_set()[0]
    model.predict(rows[:10])
    batch, _ = seconds(lambda: model.predict(rows), 5)
    single, _ = seconds(lambda: model.predict(rows[:1]), 50)
    show(
        "predict with Algorithm 4: CUB efflite0, 150 seen and 50 unseen classes",
        ["rows", "rows a second (aim 3,000)", "one row"],
        [[rows.shape[0], f"{rows.shape[0] / batch:,.0f}", f"{1e3 * single:.1f} ms"]],
    )


def growth() -> None:
    """Time and memory of fit at N, 2N, 4N, 8N."""
    lines = []
    base = None
    for factor in (1, 2, 4, 8):
        data = make_zero_shot(40, 10, 50 * factor, 512, 60, 20, noise=1.0, table_noise=0.1)
        X, y = data.training_set()
        if base is None:
            JLSE().fit(X, y, classes=data.classes)
        wall, _ = seconds(lambda X=X, y=y, data=data: JLSE().fit(X, y, classes=data.classes), 3)
        base = base or wall
        lines.append([y.size, f"{wall:.2f} s", f"{wall / base:.1f} x", f"{factor} x"])
    show("Growth of JLSE().fit with the rows", ["rows", "fit", "time", "rows"], lines)


def main() -> None:
    if sys.argv[1:2] == ["_fit"]:
        fit_once(sys.argv[2])
        return
    parts = {f.__name__: f for f in (small, similarity, fit, predict, growth)}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
