"""GFZSL against densities of scipy and scikit-learn's regressions, and numbers worked by hand."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from scipy import stats
from sklearn.kernel_ridge import KernelRidge
from sklearn.naive_bayes import GaussianNB

from tests.common.scalers import AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import GFZSL
from unseen.rows.moments import class_moments


class Problem:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.S = rng.standard_normal((8, 3))
        self.y = np.repeat(np.arange(6), [5, 9, 14, 8, 20, 4])
        noise = rng.standard_normal((60, 4)) * np.exp(0.3 * self.S[self.y] @ np.ones((3, 4)))
        self.X = self.S[self.y] @ rng.standard_normal((3, 4)) + noise + 5
        self.test = 5 + rng.standard_normal((7, 4))

    def model(self, **parameters: Any) -> GFZSL:
        table = ClassTable(range(8), self.S)
        return GFZSL(**parameters, **AS_GIVEN).fit(self.X, self.y, classes=table)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem()


def moments_one_by_one(problem: Problem, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the seen classes, with the average variance in `prior` rows more."""
    groups = [problem.X[problem.y == c] for c in range(6)]
    pooled = sum(np.sum((g - g.mean(axis=0)) ** 2, axis=0) for g in groups) / 60
    variances = [
        (np.sum((g - g.mean(axis=0)) ** 2, axis=0) + prior * pooled) / (len(g) + prior)
        for g in groups
    ]
    return np.array([g.mean(axis=0) for g in groups]), np.array(variances)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equals_regressions_of_scikit_learn_and_densities_of_scipy(
    problem: Problem, kernel: str
) -> None:
    model = problem.model(
        mean_penalty=0.3, variance_penalty=2.0, kernel=kernel, width=0.8, prior_rows=3.0
    )
    means, variances = moments_one_by_one(problem, 3.0)
    S = problem.S[:6]
    pairs = [np.sum((a - b) ** 2) for k, a in enumerate(S) for b in S[:k]]
    gamma = 1 / (2 * 0.8**2 * np.median(pairs))
    unit = np.mean(np.sum(S**2, axis=1)) if kernel == "linear" else 1.0

    def predicted(targets: np.ndarray, penalty: float) -> np.ndarray:
        average = targets.mean(axis=0)
        machine = cast(Any, KernelRidge)(alpha=penalty * unit, kernel=kernel, gamma=gamma)
        return machine.fit(S, targets - average).predict(problem.S[6:]) + average

    mu, logs = predicted(means, 0.3), predicted(np.log(variances), 2.0)
    counts, norm = np.bincount(problem.y), cast(Any, stats.norm)
    center = counts @ means / 60
    total = counts @ (variances + (means - center) ** 2) / 60
    background = norm(center, np.sqrt(total)).logpdf(problem.test).sum(axis=1)
    expected = [
        norm(m, np.exp(r / 2)).logpdf(problem.test).sum(axis=1) - background
        for m, r in zip(mu, logs, strict=True)
    ]
    np.testing.assert_allclose(model.similarities(problem.test), np.transpose(expected), rtol=1e-8)


def test_seen_classes_are_those_of_naive_bayes(problem: Problem) -> None:
    model = problem.model(prior_rows=1e-9)
    bayes: Any = GaussianNB(priors=np.full(6, 1 / 6), var_smoothing=0).fit(problem.X, problem.y)
    scores, joint = model.similarities(problem.X, "seen"), bayes.predict_joint_log_proba(problem.X)
    np.testing.assert_allclose(scores - scores[:, :1], joint - joint[:, :1], rtol=1e-6)
    np.testing.assert_array_equal(model.predict(problem.X, "seen"), bayes.predict(problem.X))


def test_worked_by_hand() -> None:
    """Classes at -1 and +1 with variance 1/4, described by -1 and 1: with a linear kernel the class
    described by 0 is at 0, and one described by 1/2 at 1/2 · 1 / (1 + λ/2)."""
    X = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    table = ClassTable(["low", "high", "middle", "upper"], [[-1.0], [1.0], [0.0], [0.5]])
    y = ["low", "low", "high", "high"]
    model = GFZSL(mean_penalty=2.0, kernel="linear", **AS_GIVEN).fit(X, y, classes=table)
    found = model.transform_classes(["middle", "upper"])[:, 0] * 0.5
    np.testing.assert_allclose(found, [0.0, 0.25], atol=1e-12)
    np.testing.assert_allclose(model.transform([[0.5]]), [[1.0]])


def test_units_and_offsets_of_columns_do_not_matter(problem: Problem) -> None:
    factor, shift = np.array([1.0, 3.0, 0.2, 7.0]), np.array([0.0, -50.0, 2.0, 1e3])
    table = ClassTable(range(8), problem.S)
    moved = GFZSL(**AS_GIVEN).fit(problem.X * factor + shift, problem.y, classes=table)
    np.testing.assert_allclose(
        moved.similarities(problem.test * factor + shift),
        problem.model().similarities(problem.test),
        rtol=1e-6,
    )


def test_a_constant_column_tells_nothing(problem: Problem) -> None:
    table = ClassTable(range(8), problem.S)
    X, test = (np.hstack([A, np.ones((len(A), 1))]) for A in (problem.X, problem.test))
    model = GFZSL(**AS_GIVEN).fit(X, problem.y, classes=table)
    np.testing.assert_allclose(
        model.similarities(test), problem.model().similarities(problem.test), rtol=1e-6
    )


def test_one_row_per_class(problem: Problem) -> None:
    rows = [int(np.flatnonzero(problem.y == c)[0]) for c in range(6)]
    table = ClassTable(range(8), problem.S)
    model = GFZSL(**AS_GIVEN).fit(problem.X[rows], problem.y[rows], classes=table)
    assert np.isfinite(model.similarities(problem.test, "all")).all()
    np.testing.assert_array_equal(model.predict(problem.X[rows], "seen"), range(6))


def test_rows_that_are_all_alike_are_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="all rows are the same"):
        GFZSL().fit(np.ones((60, 3)), problem.y, classes=ClassTable(range(8), problem.S))


def test_blocks_do_not_matter(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = problem.model().similarities(problem.test)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (7 * 4 * 8,))
    np.testing.assert_allclose(problem.model().similarities(problem.test), whole, rtol=1e-9)


def test_moments_of_classes() -> None:
    rng = np.random.default_rng(4)
    X, labels = rng.standard_normal((30, 5)).astype(np.float32), np.arange(30) % 4
    found = class_moments(X, labels, 4, lambda block: 2 * block)
    for c in range(4):
        np.testing.assert_allclose(found.means[c], 2 * X[labels == c].mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(found.variances[c], 4 * X[labels == c].var(axis=0), rtol=1e-5)


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = GFZSL().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.8


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("mean_penalty", 0, "a positive number"),
        ("variance_penalty", -1, "a positive number"),
        ("width", "abc", "a positive number"),
        ("kernel", "cubic", "'rbf' or 'linear'"),
        ("prior_rows", 0, "a positive number"),
    ],
)
def test_refuses_bad_parameters(name: str, bad: object, message: str) -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match=f"{name} must be {message}"):
        GFZSL().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
