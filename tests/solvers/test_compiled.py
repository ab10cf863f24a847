"""Kernels give the same bits compiled just now and from the cache, in one thread and in several, in
a process and in its forked child; and say so when they are compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unseen.pairs.loss import Omega, Pairs
from unseen.solvers.block import Effort, Ridge
from unseen.solvers.pair_codes import PairCodes
from unseen.solvers.similarity import fit_similarity
from unseen.solvers.source_codes import fit_source_codes_with_pairs
from unseen.solvers.target_codes import TargetSolver
from unseen.support.work import in_threads, limited_to, one_blas_thread

PROGRAM = """
import hashlib, warnings
import numpy as np
from tests.solvers.test_compiled import solve_all
warnings.simplefilter("ignore")
for dtype in (np.float32, np.float64):
    print(hashlib.sha256(solve_all(dtype)).hexdigest())
"""


def solve_all(dtype: type = np.float64) -> bytes:
    """All block solvers that have compiled loops, on one small problem."""
    rng = np.random.default_rng(0)
    C, N, hs, ht = 9, 200, 7, 6
    Zs, Zt, W, S, D = (
        rng.standard_normal(shape).astype(dtype)
        for shape in ((C, hs), (N, ht), (hs, ht), (C, 10), (8, ht))
    )
    B, XD, effort = S.T[:, :hs], Zt @ (D.T @ D), Effort(1e-2)
    source_fit, target_fit = Ridge(B.T @ B, 0.1, 1.0, 1 / C), Ridge(D.T @ D, 0.1, 1.0, 1 / N)
    found = []
    for loss in ("hinge", "squared_hinge"):
        pairs = Pairs(np.arange(N) % C, C, Omega(1e-2, 1e-3), loss)
        found.append(fit_similarity(Zs, Zt, pairs, 1e-2, effort).value)
        for code_set in ("simplex", "affine"):
            source = fit_source_codes_with_pairs(
                S @ B, source_fit, Zt @ W.T, pairs, code_set, effort=effort
            )
            found.append(source.value)
        found.append(TargetSolver(target_fit, Zs @ W, effort=effort).solve(XD, pairs).value)
        codes = PairCodes(S @ B, source_fit, target_fit, W, 0.1, loss=loss)
        block = codes.solve(XD[:40], 1e3 * pairs[:40].signed_omega(), codes=True)
        found += [block.beta, block.scores, block.Zs]
    return b"".join(np.asarray(array).tobytes() for array in found)


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="compiles all loops anew: not on each push")
def test_the_cache_does_not_change_a_bit(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert list(tmp_path.rglob("*.nbc"))
    assert len(runs[0].stdout.split()) == 2
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stderr.startswith("compiling inner loops")
    assert runs[0].stderr.count("\n") == 1
    assert runs[1].stderr == ""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype: type) -> None:
    with one_blas_thread():
        with limited_to(1):
            alone = solve_all(dtype)
        with limited_to(3):
            assert solve_all(dtype) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_solves_again() -> None:
    with one_blas_thread(), limited_to(2):
        here = solve_all()
        child = os.fork()
        if child == 0:
            os._exit(0 if solve_all() == here else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(("n_items", "threads"), [(0, 2), (1, 4), (7, 2), (100, 3)])
def test_every_item_is_visited_once(n_items: int, threads: int) -> None:
    visits = np.zeros(n_items, int)

    def visit(part: slice) -> None:
        visits[part] += 1

    with limited_to(threads):
        in_threads(visit, n_items)
    assert (visits == 1).all()


def test_an_error_in_a_thread_is_raised() -> None:
    def fail(part: slice) -> None:
        raise ValueError(f"no {part.start}")

    with limited_to(2), pytest.raises(ValueError, match="no "):
        in_threads(fail, 10)
