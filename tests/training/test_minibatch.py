"""The engine of the ranking methods: its gradient, its minimum, its steps and its bookkeeping."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import qp
from unseen.model.ranking import Ranking, sum_of_hinges, weighted_ranking, worst_hinge
from unseen.rows.scaling import RowScaling
from unseen.training import minibatch
from unseen.training.minibatch import Problem, Schedule, hold_out, map_scores, minimise

PLAIN = RowScaling(False, None)


def problem(
    loss: Ranking = sum_of_hinges, penalty: float = 0.05, n_rows: int = 40, n_classes: int = 5
) -> Problem:
    rng = np.random.default_rng(0)
    S = rng.standard_normal((n_classes, 3))
    labels = np.arange(n_rows) % n_classes
    X = S[labels] @ rng.standard_normal((3, 4)) + 0.5 * rng.standard_normal((n_rows, 4))
    return Problem.of(X / np.sqrt(np.mean(X**2) * 4), PLAIN, labels, S / 2, loss, penalty)


def by_loops(task: Problem, V: np.ndarray) -> float:
    """J of the sum of hinges, one row and one class at a time."""
    total = 0.0
    for row, own in zip(task.X[task.index], task.labels, strict=True):
        F = [max(float(row @ V[:, k] @ s) for k in range(V.shape[1])) for s in task.S]
        total += sum(max(0.0, 1 + f - F[own]) for c, f in enumerate(F) if c != own)
    return total / task.labels.size + 0.5 * task.penalty * float(np.sum(V**2))


@pytest.mark.parametrize("n_maps", [1, 3])
def test_objective_equals_the_loops(n_maps: int) -> None:
    task = problem()
    V = np.random.default_rng(1).standard_normal((4, n_maps, 3))
    assert task.objective(V) == pytest.approx(by_loops(task, V))


@pytest.mark.parametrize("n_maps", [1, 3])
@pytest.mark.parametrize("loss", [sum_of_hinges, worst_hinge, weighted_ranking])
def test_gradient_equals_finite_differences(loss: Ranking, n_maps: int) -> None:
    task, rng = problem(loss), np.random.default_rng(2)
    V = rng.standard_normal((4, n_maps, 3))
    gradient = task.gradient(V, np.arange(task.labels.size))
    for _ in range(5):
        step = 1e-6 * rng.standard_normal(V.shape)
        slope = (task.objective(V + step) - task.objective(V - step)) / 2
        assert slope == pytest.approx(np.sum(gradient * step), rel=1e-5, abs=1e-12)


def test_the_gradient_of_a_pass_is_the_mean_of_its_batches() -> None:
    task = problem()
    V = np.random.default_rng(3).standard_normal((4, 2, 3))
    halves = [task.gradient(V, rows) for rows in (slice(0, 20), slice(20, 40))]
    np.testing.assert_allclose(np.mean(halves, axis=0), task.gradient(V, slice(0, 40)))


def test_reaches_the_minimum_that_a_general_solver_finds() -> None:
    task = problem(n_rows=20)
    own = task.S[task.labels][:, None]
    ahead = np.einsum("nd,ncr->ncdr", task.X[task.index], own - task.S).reshape(-1, 12)
    other = (task.labels[:, None] != np.arange(5)).ravel()
    z = qp.solve(
        task.penalty * np.eye(12),
        np.zeros(12),
        ahead[other],
        np.full(other.sum(), 1 / 20),
        np.ones(other.sum()),
    )
    least = task.objective(z.reshape(4, 1, 3))
    trained = minimise(task, Schedule(max_iter=400, tol=0.0))
    assert trained.history[0] == pytest.approx(4.0)  # J(0): four classes, each a slack of one
    assert least <= trained.history[-1] < 1.005 * least
    assert minimise(task, Schedule()).history[-1] < 1.15 * least


def test_nothing_beyond_the_radius_is_better_than_zero() -> None:
    task, rng = problem(), np.random.default_rng(4)
    for _ in range(20):
        V = rng.standard_normal((4, 1, 3))
        V *= 1.001 * task.radius() / np.linalg.norm(V)
        assert task.objective(V) > task.objective(0 * V)


def test_steps_are_those_of_adagrad_and_later_weights_count_more() -> None:
    rng = np.random.default_rng(5)
    gradients = rng.standard_normal((6, 2, 1, 3))
    gradients[:, 0, 0, 0] = 0  # a weight that never moves
    descent = minibatch._Descent(np.ones((2, 1, 3)), None, rate=0.5)
    path = []
    for t, gradient in enumerate(gradients):
        descent.step(gradient.copy())
        length = np.sqrt(np.sum(gradients[: t + 1] ** 2, axis=0))
        moved = 0.5 * gradient / np.where(length > 0, length, 1)
        path.append((path[-1] if path else 1) - moved)
    np.testing.assert_allclose(descent.weights, path[-1])
    np.testing.assert_allclose(descent.average, np.average(path, axis=0, weights=range(1, 7)))


@pytest.mark.parametrize(
    ("n_rows", "size", "n_batches"), [(1000, 64, 16), (50, 64, 10), (3, 64, 3)]
)
def test_every_row_comes_once_a_pass(n_rows: int, size: int, n_batches: int) -> None:
    batches = minibatch._batches(np.random.default_rng(0), n_rows, size)
    assert len(batches) == n_batches
    assert sorted(np.concatenate(batches)) == list(range(n_rows))
    assert max(map(len, batches)) - min(map(len, batches)) <= 1


def test_order_of_rows_and_size_of_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    task = problem()
    straight = minimise(task, Schedule()).weights
    order = np.random.default_rng(6).permutation(40)
    labels = np.empty(40, dtype=int)
    labels[task.index] = task.labels
    turned = Problem.of(task.X[order], PLAIN, labels[order], task.S, task.loss, task.penalty)
    np.testing.assert_allclose(minimise(turned, Schedule()).weights, straight, atol=1e-12)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (7 * 4 * 8,))
    np.testing.assert_allclose(minimise(task, Schedule()).weights, straight, atol=1e-12)


def test_history_and_tolerance() -> None:
    task = problem()
    trained = minimise(task, Schedule(max_iter=4, tol=0.0))
    assert trained.n_iter == 4
    assert trained.history.size == 5
    assert trained.history[-1] == pytest.approx(task.objective(trained.weights))
    assert (np.diff(trained.history) < 0).all()
    assert minimise(task, Schedule(max_iter=50, tol=0.5)).n_iter < 4


def test_the_seed_decides_the_order_of_visits() -> None:
    task = problem()
    once, again, other = (
        minimise(task, Schedule(max_iter=2, random_state=seed)).weights for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)


def test_shares_count_rows_by_the_map_of_their_own_class() -> None:
    """One column, classes at 1 and -1: V_1 = 1 wins where x s > 0, V_2 = -1 elsewhere."""
    X = np.array([[1.0], [2.0], [-1.0], [3.0]])
    labels = np.array([0, 0, 0, 1])  # x s = 1, 2, -1 and -3
    task = Problem.of(X, PLAIN, labels, np.array([[1.0], [-1.0]]), sum_of_hinges, 1.0)
    V = np.array([[[1.0], [-1.0]]])
    np.testing.assert_allclose(task.shares(V), [0.5, 0.5])
    np.testing.assert_allclose(task.shares(V[:, :1]), [1])
    assert map_scores(X[:1], V, task.S).tolist() == [[[1, -1], [-1, 1]]]


def test_maps_can_be_dropped_on_the_way() -> None:
    task = problem()
    start = np.random.default_rng(7).standard_normal((4, 3, 3))

    def prune(n_passes: int, V: np.ndarray) -> np.ndarray | None:
        return np.array([2]) if n_passes == 2 else None

    trained = minimise(task, Schedule(max_iter=4, tol=0.0), start, prune=prune)
    assert trained.weights.shape == trained.squares.shape == (4, 1, 3)
    assert trained.history[-1] == pytest.approx(task.objective(trained.weights))


def test_training_goes_on_with_small_steps() -> None:
    """With the squares of what came before, the start is left more slowly."""
    task = problem()
    before = minimise(task, Schedule())
    once = Schedule(max_iter=1)
    fresh = minimise(task, once, before.weights).weights
    gone_on = minimise(task, once, before.weights, before.squares).weights
    moved = [float(np.linalg.norm(V - before.weights)) for V in (gone_on, fresh)]
    assert moved[0] < moved[1] / 2


def test_held_out_classes_are_on_one_side_only() -> None:
    task = problem(n_classes=10)
    kept, held = hold_out(task, 0)
    assert (len(kept.S), len(held.S)) == (8, 2)
    assert sorted(np.concatenate([kept.index, held.index])) == list(range(40))
    together = np.vstack([kept.S[kept.labels], held.S[held.labels]])
    order = np.argsort(np.concatenate([kept.index, held.index]))
    np.testing.assert_array_equal(together[order], task.S[task.labels][np.argsort(task.index)])


def test_float32_stays_float32() -> None:
    task = problem()
    single = Problem.of(
        task.X.astype(np.float32), PLAIN, np.arange(40) % 5, task.S, task.loss, task.penalty
    )
    trained = minimise(single, Schedule(max_iter=3))
    assert trained.weights.dtype == trained.squares.dtype == np.float32
