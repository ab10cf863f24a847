"""Speed and memory of JLSE, each figure beside its rival in the same run.

    python -m benchmarks.solvers [small] [similarity] [alternation] [fit] [predict] [growth]

A "pass" is the time of Zs @ W @ Zt.T and its adjoint in the same dtype, measured around each
figure. Compilation is not counted: every function runs once on a small problem first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data import load
from unseen import ESZSL, JLSE, make_zero_shot
from unseen.bench.memory import with_peak
from unseen.cli.output import show
from unseen.estimators import ZeroShotClassifier
from unseen.pairs import pair_weights
from unseen.preprocessing import RowScaling
from unseen.solvers.similarity import fit_similarity
from unseen.solvers.source_codes import fit_source_codes
from unseen.training import alternating
from unseen.training.alternating import Algorithm2
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
        svc = LinearSVC(loss="hinge", C=1 / lam, fit_intercept=False, max_iter=1000)
        svc_s, _ = seconds(lambda svc=svc: svc.fit(F, signs.ravel(), omega.ravel()))
        objectives = {"LinearSVC": _hinge_objective(svc.coef_.reshape(ht, hs).T, Zs, Zt, signs,
                                                    omega, lam)}  # fmt: skip
        times = {}
        for dtype in (np.float64, np.float32):
            codes = Zs.astype(dtype), Zt.astype(dtype)
            fit_similarity(codes[0], codes[1][:100], y[:100], lam=1e-3, w_pos=w.pos, w_neg=w.neg)
            times[dtype.__name__], ours = seconds(
                lambda lam=lam, codes=codes: fit_similarity(
                    *codes, y, lam=lam, w_pos=w.pos, w_neg=w.neg
                ), 5,
            )  # fmt: skip
            W = ours.value.W.astype(np.float64)
            objectives[dtype.__name__] = _hinge_objective(W, Zs, Zt, signs, omega, lam)
        best = min(objectives.values())
        for name, wall in times.items():
            lines.append([
                f"{lam:g}", name, f"{1e3 * wall:.0f} ms", f"{svc_s:.2f} s", f"{svc_s / wall:.0f} x",
                f"{objectives[name] / best - 1:.1e}",
            ])  # fmt: skip
    columns = ["λ_W", "ours in", "ours", "LinearSVC", "faster (aim 50 x)", "objective above best"]
    show("W at C 20, N 2000, 20 x 50", columns, lines)


def _hinge_objective(
    W: np.ndarray, Zs: np.ndarray, Zt: np.ndarray, signs: np.ndarray, omega: np.ndarray, lam: float
) -> float:
    slack = np.maximum(1 - signs * (Zt @ W.T @ Zs.T), 0)
    return float(np.sum(omega * slack) + lam / 2 * np.sum(W**2))


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


def alternation() -> None:
    """W inside Algorithm 2 on CUB's VGG rows: from nothing, and from the round before."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    lines: list[list[Any]] = []
    solve = alternating.fit_similarity

    def watched(Zs: np.ndarray, Zt: np.ndarray, *args: Any, **options: Any) -> Any:
        size = one_pass(Zs, Zt)
        wall, solution = seconds(lambda: solve(Zs, Zt, *args, **options))
        start = "zero" if options.get("state") is None else "the last W"
        lines.append([start, f"{solution.optimality:.1e}", solution.n_iter, f"{wall:.2f} s",
                      f"{wall / size:.0f}"])  # fmt: skip
        return solution

    alternating.fit_similarity = watched
    try:
        JLSE(training=Algorithm2(4)).fit(X, y, classes=data.classes)
    finally:
        alternating.fit_similarity = solve
    columns = ["starts from", "gap", "epochs", "time", "passes"]
    show("W in four rounds of JLSE().fit: the first W, then a line a round", columns, lines)


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
    print(*measured_fit({"ESZSL": ESZSL(), "JLSE": JLSE()}[name], X, y, classes))


def measured_fit(
    model: ZeroShotClassifier, X: np.ndarray, y: np.ndarray, classes: Any
) -> tuple[float, float]:
    """Wall seconds, and the rise of peak memory in MB; what is compiled is compiled before."""
    tiny = make_zero_shot(rows_per_class=10)
    tiny_X, tiny_y = tiny.training_set()
    type(model)().fit(tiny_X.astype(X.dtype), tiny_y, classes=tiny.classes)
    (wall, _), memory = with_peak(lambda: seconds(lambda: model.fit(X, y, classes=classes)))
    return wall, float("nan") if memory is None else memory


def predict() -> None:
    """Rows a second with Algorithm 4 at the size of CUB, and the time of a single row."""
    data = load("CUB efflite0")
    X, y = data.training_set()
    model = JLSE(training=Algorithm2(0)).fit(X, y, classes=data.classes)
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
    """Time and memory of fit at N, 2N, 4N, 8N, each in a process of its own."""
    lines, base = [], None
    for factor in (1, 2, 4, 8):
        out = subprocess.run(
            [sys.executable, "-m", "benchmarks.solvers", "_grow", str(factor)],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        n_rows, wall, memory, size = map(float, out)
        base = base or (wall, memory)
        lines.append([
            f"{n_rows:,.0f}", f"{factor} x", f"{wall:.2f} s", f"{wall / base[0]:.1f} x",
            f"{memory:.0f} MB", f"{memory / base[1]:.1f} x", f"{size:.0f} MB",
        ])  # fmt: skip
    columns = ["rows", "rows", "fit", "time", "peak above X", "memory", "X"]
    show("Growth of JLSE().fit with the rows", columns, lines)


def grow_once(factor: int) -> None:
    """Rows, seconds, rise of peak memory and size of X in MB, of a fit on synthetic rows."""
    data = make_zero_shot(40, 10, 125 * factor, 512, 60, 20, noise=1.0, table_noise=0.1)
    X, y = data.training_set()
    X, classes = X.astype(np.float32), data.classes
    del data
    wall, memory = measured_fit(JLSE(), X, y, classes)
    print(y.size, wall, memory, X.nbytes / 2**20)


def main() -> None:
    if sys.argv[1:2] == ["_fit"]:
        fit_once(sys.argv[2])
        return
    if sys.argv[1:2] == ["_grow"]:
        grow_once(int(sys.argv[2]))
        return
    parts = {f.__name__: f for f in (small, similarity, alternation, fit, predict, growth)}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
