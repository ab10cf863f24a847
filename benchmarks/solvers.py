"""Speed and memory of JLSE, each figure beside its rival in the same run.

    python -m benchmarks.solvers [compiling] [products] [one_row] [small] [similarity] [alternation]
                                 [fit] [predict] [growth]

A "pass" is the time of Zs @ W @ Zt.T and its adjoint in the same dtype, measured around each
figure. Compilation is counted under `compiling` alone: elsewhere every function runs once on a
small problem first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import LinearSVC

from benchmarks.data import load
from unseen import ESZSL, JLSE, KernelJLSE, make_zero_shot
from unseen.apps.cli.output import show
from unseen.estimators import ZeroShotClassifier
from unseen.inference.pairwise import Algorithm3
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler
from unseen.solvers import similarity as similarity_block
from unseen.solvers import source_codes as source_block
from unseen.solvers.block import Effort, Ridge
from unseen.solvers.dictionary import initial_target_dictionary
from unseen.solvers.similarity import fit_similarity
from unseen.solvers.simplex import fit_source_codes
from unseen.solvers.target_codes import TargetSolver
from unseen.support.memory import with_peak
from unseen.support.work import one_blas_thread
from unseen.training import alternating
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1


def seconds(run: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """The median wall time of a few runs, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


def compiling() -> None:
    """CPU seconds in which all inner loops compile: with an empty cache, less those with a full
    one.
    """
    with tempfile.TemporaryDirectory() as folder:
        # One thread: waiting ones would count as well.
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.solvers", "_loops"]
        options: dict[str, Any] = {"env": environment, "capture_output": True, "text": True}
        cold, warm = (
            float(subprocess.run(command, check=True, **options).stdout) for _ in range(2)
        )
    columns = ["empty cache", "full cache", "compiling (aim 8 s)"]
    times = [f"{cold:.1f} s", f"{warm:.1f} s", f"{cold - warm:.1f} s"]
    show("CPU time of all loops on tiny data", columns, [times])


def run_all_loops() -> None:
    """CPU seconds of small fits that between them call every inner loop, in both float types."""
    data = make_zero_shot(rows_per_class=10)
    X, y = data.training_set()
    S = data.classes.vectors
    signs = np.random.default_rng(0).choice([-1, 0, 1], (len(X), len(S))).astype(np.int8)
    start = time.process_time()
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        for model in (JLSE(), KernelJLSE()):
            model.fit(rows, y, classes=data.classes).predict(rows[:3])
        JLSE().fit_pairs(S, rows, signs)
        JLSE().fit_pairs(S, rows, signs, np.full(signs.shape, 0.5))
    for kind in (JLSE, KernelJLSE):
        model = kind(training=Algorithm1(), testing=Algorithm3())
        model.fit(X, y, classes=data.classes).predict(X[:3])
    print(time.process_time() - start)


Shapes = Counter[tuple[int, int, int]]


def _counted(run: Any, count: Callable[..., list], shapes: Shapes) -> Callable[..., Any]:
    def counted(*args: Any, **options: Any) -> Any:
        shapes.update(count(*args, **options))
        return run(*args, **options)

    return counted


@contextmanager
def watched_products() -> Iterator[Shapes]:
    """The matrix products of a fit by shape (m, k, n), as its parts are called."""
    shapes: Shapes = Counter()

    def rows_and(rows: TrainingRows, matrix: np.ndarray, *_: Any) -> list[tuple[int, int, int]]:
        h = matrix.shape[1]
        return [(rows.n_rows, rows.n_columns, h)]

    def cross(rows: TrainingRows, Z: np.ndarray) -> list[tuple[int, int, int]]:
        return [(rows.n_columns, rows.n_rows, Z.shape[1])]

    def round_trip(rows: TrainingRows, D: np.ndarray, *_: Any) -> list[tuple[int, int, int]]:
        return [*rows_and(rows, D), (rows.n_columns, rows.n_rows, D.shape[1])]

    def scores(block: Any, P: np.ndarray) -> list[tuple[int, int, int]]:
        return [(*block.Z.shape, P.shape[1])]

    def duals(block: Any) -> list[tuple[int, int, int]]:
        return [(block.A.shape[1], *block.Z.shape)]

    def epoch(block: Any, hand: Any, least: float, *_: Any) -> list[tuple[int, int, int]]:
        (h, C), n = hand.P.shape, int(np.count_nonzero(block.gaps > least))
        return [(n, h, C), (h, n, C)]

    def losses(block: Any, codes: np.ndarray, *_: Any) -> list[tuple[int, int, int]]:
        return [(*block.F.shape, codes.shape[1])]

    def pulls(block: Any, classes: np.ndarray, *_: Any) -> list[tuple[int, int, int]]:
        return [(len(classes), *block.F.shape)]

    def codes(solver: Any, XD: np.ndarray, *_: Any, **__: Any) -> list[tuple[int, int, int]]:
        (n, h), C = XD.shape, len(solver.Q)
        return [(n, h, h), (n, h, C), (n, C, h)]

    places: list[tuple[Any, str, Callable[..., list]]] = [
        (TrainingRows, "project", rows_and),
        (TrainingRows, "cross", cross),
        (TrainingRows, "round_trip", round_trip),
        (similarity_block, "_losses", scores),
        (similarity_block, "_pulled", duals),
        (similarity_block, "_ascend", epoch),
        (source_block, "class_losses", losses),
        (source_block, "pulled", pulls),
        (TargetSolver, "solve", codes),
    ]
    before = [(place, name, getattr(place, name)) for place, name, _ in places]
    for (place, name, run), (_, _, count) in zip(before, places, strict=True):
        setattr(place, name, _counted(run, count, shapes))
    try:
        yield shapes
    finally:
        for place, name, run in before:
            setattr(place, name, run)


def bare_products(shapes: Shapes, dtype: Any) -> float:
    """CPU seconds of matrix products of these shapes alone."""
    total = 0.0
    for (m, k, n), count in shapes.items():
        A, B, out = np.ones((m, k), dtype), np.ones((k, n), dtype), np.empty((m, n), dtype)
        np.matmul(A, B, out=out)
        start = time.process_time()
        for _ in range(min(count, 5)):
            np.matmul(A, B, out=out)
        total += count * (time.process_time() - start) / min(count, 5)
    return total


def products() -> None:
    """A fit at the size of CUB beside its own matrix products, one thread, CPU time."""
    data = load("CUB efflite0")
    X, y = data.training_set()
    lines = []
    rounds = Algorithm2(max_iter=3)
    models = {
        "JLSE, 200 atoms": JLSE(200, training=rounds),
        "KernelJLSE, 400 atoms": KernelJLSE(400, training=rounds),
    }
    for name, model in models.items():
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warm: Any = clone(model)
            warm.fit(X[::50], y[::50], classes=data.classes)
            with watched_products() as shapes:
                start = time.process_time()
                model.fit(X, y, classes=data.classes)
                cpu = time.process_time() - start
            floor = bare_products(shapes, X.dtype)
        flops = sum(2 * m * k * n * count for (m, k, n), count in shapes.items())
        times = [f"{floor:.2f} s", f"{cpu:.2f} s", f"{cpu / floor:.1f} x"]
        lines.append([name, f"{flops / 1e9:.0f} G", *times])
    columns = ["3 rounds of Algorithm 2", "flops", "products alone", "fit", "ratio (aim 3 x)"]
    size = f"{X.shape[0]:,} x {X.shape[1]:,}"
    show(f"fit on CUB efflite0 ({size}) beside its products", columns, lines)


def one_row() -> None:
    """The code of a single row by Algorithm 4, everything that depends on the model prepared."""
    rng, lines = np.random.default_rng(0), []
    for h in (200, 800):
        D = rng.standard_normal((1280, h)).astype(np.float32) / 36
        Q = rng.standard_normal((150, h)).astype(np.float32)
        solver = TargetSolver(Ridge(D.T @ D, 0.06, 3.0, 1 / 8821), Q)
        pairs = Pairs.negative(1, 150, 1e-5)
        XD = rng.standard_normal((1, 1280)).astype(np.float32) @ D
        with one_blas_thread():
            solver.solve(XD, pairs)
            wall, _ = seconds(lambda XD=XD, s=solver, pairs=pairs: s.solve(XD, pairs), 200)
        lines.append([h, f"{1e3 * wall:.2f} ms"])
    show("One row, 150 seen classes", ["atoms", "one row (aim 0.5 ms)"], lines)


def small() -> None:
    """W against LinearSVC(loss="hinge") on explicit products: C 20, N 2000, 20 x 50."""
    rng = np.random.default_rng(0)
    C, N, hs, ht = 20, 2000, 20, 50
    Zs, y = rng.dirichlet(np.full(hs, 0.3), C), rng.integers(0, C, N)
    Zt = rng.standard_normal((C, ht))[y] + 2.0 * rng.standard_normal((N, ht))
    Zt /= np.linalg.norm(Zt, axis=1, keepdims=True)
    pairs = Pairs.weighted(y, C, "balanced")
    F = np.einsum("ja,ib->jiab", Zt, Zs).reshape(N * C, -1)
    signs, omega = np.sign(pairs.signed_omega()), np.abs(pairs.signed_omega())
    fit_similarity(Zs, Zt[:100], pairs[:100], 1e-3, Effort(0.1))
    lines = []
    for lam in (1e-4, 1e-5):
        svc = LinearSVC(loss="hinge", C=1 / lam, fit_intercept=False, max_iter=1000)
        svc_s, _ = seconds(lambda svc=svc: svc.fit(F, signs.ravel(), omega.ravel()))
        W = svc.coef_.reshape(ht, hs).T
        objectives = {"LinearSVC": _hinge_objective(W, Zs, Zt, pairs, lam)}
        times = {}
        for dtype in (np.float64, np.float32):
            codes = Zs.astype(dtype), Zt.astype(dtype)
            fit_similarity(codes[0], codes[1][:100], pairs[:100], 1e-3)
            times[dtype.__name__], ours = seconds(
                lambda lam=lam, codes=codes: fit_similarity(*codes, pairs, lam), 5
            )
            W = ours.value.astype(np.float64)
            objectives[dtype.__name__] = _hinge_objective(W, Zs, Zt, pairs, lam)
        best = min(objectives.values())
        for name, wall in times.items():
            ratio, above = f"{svc_s / wall:.0f} x", f"{objectives[name] / best - 1:.1e}"
            lines.append([f"{lam:g}", name, f"{1e3 * wall:.0f} ms", f"{svc_s:.2f} s", ratio, above])
    columns = ["λ_W", "ours in", "ours", "LinearSVC", "faster (aim 50 x)", "objective above best"]
    show("W at C 20, N 2000, 20 x 50", columns, lines)


def _hinge_objective(
    W: np.ndarray, Zs: np.ndarray, Zt: np.ndarray, pairs: Pairs, lam: float
) -> float:
    return pairs.total_loss(Zt @ W.T @ Zs.T) + lam / 2 * float(np.sum(W**2))


def cub_codes() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Class vectors, their simplex codes, row codes (300) and labels of CUB's seen classes."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    rows = TrainingRows(X, RowScaler(unit_length=True, center=False).learn(X))
    Zt = rows.project(initial_target_dictionary(rows, 300, 0))
    S = data.classes.select(data.seen).vectors
    S = S / np.linalg.norm(S, axis=1, keepdims=True)
    Zs = fit_source_codes(S @ S.T, Ridge(S @ S.T, 0.1, 0.3)).value.astype(np.float32)
    return S, Zs, Zt, np.searchsorted(data.seen, y)


def one_pass(Zs: np.ndarray, Zt: np.ndarray) -> float:
    W = np.ones((Zs.shape[1], Zt.shape[1]), Zs.dtype)
    return seconds(lambda: Zs.T @ (Zs @ W @ Zt.T) @ Zt, 9)[0]


def similarity() -> None:
    """W at the size of CUB, in passes."""
    S, Zs, Zt, y = cub_codes()
    pairs = Pairs.weighted(y, len(Zs), "balanced")
    fit_similarity(Zs, Zt[:300], pairs[:300], 1e-3, Effort(0.5, 70))
    moved = fit_source_codes(S @ S.T, Ridge(S @ S.T, 0.105, 0.3)).value.astype(np.float32)
    noise = np.random.default_rng(0).standard_normal(Zt.shape).astype(np.float32)
    lengths = np.linalg.norm(Zt, axis=1, keepdims=True) / np.float32(np.sqrt(Zt.shape[1]))
    lines = []

    def line(name: str, aim: str, run: Callable[[], Any]) -> Any:
        before = one_pass(Zs, Zt)
        wall, solution = seconds(run)
        size = 0.5 * (before + one_pass(Zs, Zt))
        found = [f"{solution.optimality:.1e}", solution.n_iter, f"{wall:.2f} s"]
        lines.append([name, *found, f"{1e3 * size:.1f} ms", f"{wall / size:.0f}", aim])
        return solution

    cold = line("λ_W 1e-5, cold", "50", lambda: fit_similarity(Zs, Zt, pairs, 1e-5))
    near = Zt + 0.01 * noise * lengths
    line(
        "λ_W 1e-5, warm after a small change of both codes",
        "15",
        lambda: fit_similarity(moved, near, pairs, 1e-5, state=cold.state),
    )
    line(
        "λ_W 3e-7, cold, gap 1e-2",
        "200",
        lambda: fit_similarity(Zs, Zt, pairs, 3e-7, Effort(1e-2)),
    )
    squared = Pairs.weighted(y, len(Zs), "balanced", "squared_hinge")
    line("λ_W 1e-5, squared hinge, cold", "-", lambda: fit_similarity(Zs, Zt, squared, 1e-5))
    columns = ["W of CUB", "gap", "epochs", "time", "one pass", "passes", "aim"]
    show("W at C 150, N 8,821, 150 x 300, float32, balanced", columns, lines)


def alternation() -> None:
    """W inside Algorithm 2 on CUB's VGG rows: from nothing, and from the round before."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    lines: list[list[Any]] = []
    solve = alternating.fit_similarity

    def watched(Zs: np.ndarray, Zt: np.ndarray, *args: Any) -> Any:
        size = one_pass(Zs, Zt)
        wall, solution = seconds(lambda: solve(Zs, Zt, *args))
        start, gap = "zero" if args[-1] is None else "the last W", f"{solution.optimality:.1e}"
        lines.append([start, gap, solution.n_iter, f"{wall:.2f} s", f"{wall / size:.0f}"])
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
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        lines.append([name, *map(float, out)])
    ratio = lines[1][1] / lines[0][1]
    size = 8821 * 4096 * 4 / 2**20
    rows = [[n, f"{s:.1f} s", f"{m:.0f} MB", f"{m / size:.1f} x"] for n, s, m in lines]
    show("fit on CUB VGG rows (8,821 x 4,096)", ["method", "fit", "peak above X", "of X"], rows)
    allowed = 3 * size + 300
    print(
        f"JLSE takes {ratio:.1f} times as long as ESZSL (aim: at most 10); "
        f"memory above X aim: at most {allowed:.0f} MB"
    )


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
        ["rows", "rows a second (aim 3,000)", "one row (aim 2 ms)"],
        [[rows.shape[0], f"{rows.shape[0] / batch:,.0f}", f"{1e3 * single:.1f} ms"]],
    )


def growth() -> None:
    """Time and memory of fit at N, 2N, 4N, 8N, each in a process of its own."""
    lines, base = [], None
    for factor in (1, 2, 4, 8):
        out = subprocess.run(
            [sys.executable, "-m", "benchmarks.solvers", "_grow", str(factor)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        n_rows, wall, memory, size = map(float, out)
        base = base or (wall, memory)
        time_, space = f"{wall / base[0]:.1f} x", f"{memory / base[1]:.1f} x"
        found = [f"{wall:.2f} s", time_, f"{memory:.0f} MB", space, f"{size:.0f} MB"]
        lines.append([f"{n_rows:,.0f}", f"{factor} x", *found])
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
    if sys.argv[1:2] == ["_loops"]:
        run_all_loops()
        return
    parts = {
        f.__name__: f
        for f in (
            compiling,
            products,
            one_row,
            small,
            similarity,
            alternation,
            fit,
            predict,
            growth,
        )
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
