"""GaussianMatch against the model formed step by step, against integrals, and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import trapezoid
from sklearn.exceptions import NotFittedError

from tests.oracles.gaussian import Oracle
from unseen import ClassTable, InputError, load, make_zero_shot
from unseen.estimators import GaussianMatch
from unseen.estimators import gaussian_match as module
from unseen.rows.blocks import BLOCK_BYTES
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.training.gaussian import left_out

stats: Any = scipy.stats
AS_GIVEN: dict[str, Any] = {
    "row_scaler": RowScaler(unit_length=False, center=False),
    "class_scaler": ClassScaler(center=False, unit_length=False),
}


class Problem:
    """Seven seen classes and three unseen ones, 12 features, 5 attributes, unequal counts."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        S = rng.standard_normal((10, 5))
        means = np.tanh(S @ rng.standard_normal((5, 12))) * 2
        self.y = np.repeat(np.arange(7), [9, 12, 7, 20, 8, 15, 11])
        self.X = means[self.y] + rng.standard_normal((self.y.size, 12)) @ np.diag(
            rng.uniform(0.3, 1, 12)
        )
        self.test_y = np.repeat(np.arange(7, 10), 6)
        self.test = means[self.test_y] + 0.7 * rng.standard_normal((18, 12))
        self.S = S

    def model(self, **parameters: Any) -> GaussianMatch:
        model = GaussianMatch(**{"shrinkage": 0.6, **AS_GIVEN, **parameters})
        return model.fit(self.X, self.y, classes=ClassTable(range(10), self.S))

    def oracle(self, shrinkage: float = 0.6, misfit: float = 0.02, width: float = 1.0) -> Oracle:
        return Oracle(self.X, self.y, self.S[:7], shrinkage, misfit, width, 12)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem()


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("tails", [None, 4.0])
def test_equals_the_model_formed_step_by_step(
    problem: Problem, spread: float, tails: float | None
) -> None:
    shrinkage, misfit, width, stretch = 0.3, 0.1, 0.8, 0.5
    model = problem.model(
        shrinkage=shrinkage, misfit=misfit, width=width, stretch=stretch, spread=spread, tails=tails
    )
    oracle = problem.oracle(shrinkage, misfit, width)
    Z = oracle.codes(problem.test)
    h = Z.shape[1]
    expected = np.empty((18, 3))
    for i, s in enumerate(problem.S[7:]):
        mean, v = oracle.predict(s)
        mean = oracle.stretched(mean, stretch)
        shapes = np.diag(1 + spread * v), np.diag(1 + oracle.beta)
        if tails is None:
            match = stats.multivariate_normal(mean, shapes[0])
            other = stats.multivariate_normal(np.zeros(h), shapes[1])
        else:
            match = stats.multivariate_t(mean, shapes[0], df=tails)
            other = stats.multivariate_t(np.zeros(h), shapes[1], df=tails)
        expected[:, i] = match.logpdf(Z) - other.logpdf(Z)
    scores = model.similarities(problem.test, "unseen") - model.posterior_.gain
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_class_has_the_same_scores_alone_and_among_more_than_there_are_columns(
    problem: Problem, spread: float
) -> None:
    model = problem.model(spread=spread)
    together = model.similarities(problem.test, "all")
    n_columns = model._gallery_codes(problem.test).shape[1]
    assert 1 < n_columns < together.shape[1]
    for number, name in enumerate(model.class_table_.names.tolist()):
        alone = model.similarities(problem.test, [name])[:, 0]
        np.testing.assert_allclose(together[:, number], alone, rtol=1e-10, atol=1e-10)


def test_f_is_the_integral_of_the_general_model(problem: Problem) -> None:
    """∫ p_B(z_s | x_s) p_W(z_s, z_t) dz_s by Monte Carlo, and by quadrature in one direction."""
    model = problem.model(spread=1.0, tails=None, shrinkage=0.9)
    posterior, rng = model.posterior_, np.random.default_rng(1)
    Z = model.transform(problem.test[:4])
    terms = model._prepare(model.class_table_.select([8]))
    v = terms.variance[0] - 1
    draws = terms.mean[0] + rng.standard_normal((400_000, v.size)) * np.sqrt(v)
    background = stats.norm(0, np.sqrt(1 + posterior.between)).logpdf(Z).sum(axis=1)
    scores = model.similarities(problem.test[:4], [8])[:, 0] - posterior.gain
    for z, level, score in zip(Z, background, scores, strict=True):
        log_p = stats.norm(draws, 1).logpdf(z).sum(axis=1) - level
        integral = np.exp(log_p - log_p.max())
        found = log_p.max() + np.log(integral.mean())
        error = integral.std() / integral.mean() / np.sqrt(len(integral))
        assert abs(found - score) < 5 * error + 1e-9
    grid = np.linspace(-60, 60, 200_001)
    for d in range(v.size):
        p_b = stats.norm(terms.mean[0, d], np.sqrt(v[d])).pdf(grid)
        inner = trapezoid(p_b * stats.norm(grid, 1).pdf(Z[0, d]), grid)
        exact = stats.norm(terms.mean[0, d], np.sqrt(1 + v[d])).pdf(Z[0, d])
        assert inner == pytest.approx(exact, rel=1e-8)


def test_tails_are_an_integral_over_the_scale_of_the_row(problem: Problem) -> None:
    nu = 5.0
    model = problem.model(spread=1.0, tails=nu)
    posterior = model.posterior_
    z = model.transform(problem.test[:1])[0]
    terms = model._prepare(model.class_table_.select([9]))
    precision = np.linspace(1e-6, 12, 400_001)
    prior = stats.gamma(nu / 2, scale=2 / nu).pdf(precision)

    def density(mean: np.ndarray, variance: np.ndarray) -> float:
        q = np.sum((z - mean) ** 2 / variance)
        log_n = 0.5 * z.size * np.log(precision) - 0.5 * precision * q
        level = -0.5 * np.log(2 * np.pi * variance).sum()
        return float(np.log(trapezoid(prior * np.exp(log_n), precision)) + level)

    expected = density(terms.mean[0], terms.variance[0])
    expected -= density(np.zeros(z.size), 1 + posterior.between)
    score = model.similarities(problem.test[:1], [9])[0, 0] - posterior.gain
    assert score == pytest.approx(expected, rel=1e-5)


def test_leaving_a_class_out_in_closed_form_equals_leaving_it_out(problem: Problem) -> None:
    model, oracle = problem.model(stretch=0.4), problem.oracle()
    means, v = left_out(model.posterior_)
    for c in range(7):
        mean, variance = oracle.predict(problem.S[c], without=c)
        signs = np.sign(np.sum(oracle.T * model.posterior_.means, axis=0))
        np.testing.assert_allclose(means[c] * signs, oracle.stretched(mean, 0.4), atol=1e-7)
        np.testing.assert_allclose(v[c], variance, atol=1e-7)


@pytest.mark.parametrize("order", ["mixed", "by class"])
def test_batches_give_what_one_fit_gives(problem: Problem, order: str) -> None:
    whole = problem.model()
    rows = np.random.default_rng(3).permutation(problem.y.size)
    if order == "by class":
        rows = np.argsort(problem.y, kind="stable")
    table = ClassTable(range(10), problem.S)
    model = GaussianMatch(0.6, **AS_GIVEN)
    for k, part in enumerate(np.array_split(rows, 5)):
        model.partial_fit(problem.X[part], problem.y[part], table if k == 0 else None)
    np.testing.assert_array_equal(model.seen_classes_, whole.seen_classes_)
    assert model.training_data_ == whole.training_data_
    np.testing.assert_allclose(
        model.similarities(problem.test, "all"), whole.similarities(problem.test, "all"), rtol=1e-8
    )


def test_classes_that_come_later_are_learned(problem: Problem, tmp_path: Any) -> None:
    first = problem.y < 5
    model = GaussianMatch(0.6, **AS_GIVEN)
    model.partial_fit(problem.X[first], problem.y[first], ClassTable(range(8), problem.S[:8]))
    model.save(tmp_path / "part.unseen")
    model = load(tmp_path / "part.unseen")
    more = ClassTable(range(8, 10), problem.S[8:])
    model.partial_fit(problem.X[~first], problem.y[~first], more)
    np.testing.assert_allclose(
        model.similarities(problem.test), problem.model().similarities(problem.test), rtol=1e-8
    )


def test_one_class_is_not_enough_yet(problem: Problem) -> None:
    model = GaussianMatch(**AS_GIVEN)
    only = problem.y == 0
    model.partial_fit(problem.X[only], problem.y[only], ClassTable(range(10), problem.S))
    with pytest.raises(NotFittedError, match="at least two classes"):
        model.predict(problem.test)
    model.partial_fit(problem.X[~only], problem.y[~only])
    assert set(model.predict(problem.test)) <= {7, 8, 9}


def test_bad_batches_change_nothing(problem: Problem) -> None:
    model = GaussianMatch(**AS_GIVEN)
    with pytest.raises(InputError, match="needs the class table"):
        model.partial_fit(problem.X, problem.y)
    model = problem.model()
    before = model.similarities(problem.test)
    with pytest.raises(InputError):
        model.partial_fit(problem.X[:2], np.array([0, 77]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(problem.X[:2, :5], problem.y[:2])
    bad = problem.X[:2].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, problem.y[:2])
    np.testing.assert_array_equal(model.similarities(problem.test), before)


def test_wide_rows_in_a_basis_give_the_same(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X = problem.X @ rng.standard_normal((12, 300)) + 0.1 * rng.standard_normal(
        (problem.y.size, 300)
    )
    table = ClassTable(range(10), problem.S)
    plain = GaussianMatch().fit(X, problem.y, classes=table)
    monkeypatch.setattr(module, "_WIDEST", 100)
    narrow = GaussianMatch().fit(X, problem.y, classes=table)
    np.testing.assert_allclose(narrow.similarities(X), plain.similarities(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(InputError, match="all rows at once"):
        narrow.partial_fit(X, problem.y)


def test_products_are_kept_in_panels(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    whole = problem.model().similarities(problem.test)
    monkeypatch.setattr("unseen.rows.moments._PANEL", 5)
    np.testing.assert_allclose(problem.model().similarities(problem.test), whole, rtol=1e-9)


def test_seen_classes_have_their_own_mean(problem: Problem) -> None:
    model = problem.model()
    codes = model.transform(problem.X)
    means = [codes[problem.y == c].mean(axis=0) for c in range(7)]
    np.testing.assert_allclose(model.transform_classes("seen"), means, atol=1e-8)


def test_probabilities(problem: Problem) -> None:
    model = problem.model()
    p = model.predict_proba(problem.test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(problem.test))
    pairs = model.pair_probabilities(problem.S[7:], problem.test)
    assert ((pairs >= 0.5) == (model.predict_pairs(problem.S[7:], problem.test) == 1)).all()
    rarer = model.pair_probabilities(problem.S[7:], problem.test, prior=0.01)
    assert (rarer < pairs).all()
    with pytest.raises(InputError, match="prior"):
        model.pair_probabilities(problem.S[7:], problem.test, prior=2)


def test_a_match_is_told_from_no_match() -> None:
    data = make_zero_shot(30, 10, 40, 40, 12, 8, noise=0.6)
    X, y = data.training_set()
    T, t = data.unseen_set()
    model = GaussianMatch().fit(X, y, classes=data.classes)
    names = np.unique(t)
    calls = model.predict_pairs(data.classes.select(names), T)
    is_match = t[:, None] == names
    assert (calls[is_match] == 1).mean() > 0.8
    assert (calls[~is_match] == -1).mean() > 0.8


def test_seen_and_unseen_classes_compete_fairly_without_more_training() -> None:
    data = make_zero_shot(40, 10, 40, 60, 12, 8, noise=1.0, table_noise=0.3)
    X, y = data.training_set()
    T, t = data.unseen_set()
    train = np.arange(len(y)) % 4 > 0
    model = GaussianMatch().fit(X[train], y[train], classes=data.classes)
    seen = model.score(X[~train], y[~train], "all")
    unseen = model.score(T, t, "all")
    assert unseen > 0.5 * model.score(T, t)
    assert seen > 0.5 * model.score(X[~train], y[~train], "seen")


def test_an_explanation_adds_up(problem: Problem) -> None:
    model = problem.model()
    found = model.explain(problem.test[0], 8, top=50)
    assert len(found.classes) == 7
    assert found.similarity == pytest.approx(sum(e.contribution for e in found.directions))
    assert found.score == pytest.approx(model.similarities(problem.test[:1], [8])[0, 0])
    assert len(found.attributes) == 5
    assert "seen classes that both are like" in str(found)
    z, step = model.transform(problem.test[:1])[0], 1e-3
    seen = problem.S[:7].mean(axis=0)
    for support in found.attributes:
        m = int(support.attribute.split()[-1])
        ends = [problem.S[8] + sign * step * np.eye(5)[m] for sign in (1, -1)]
        up, down = (model.posterior_.predict(end[None])[0][0] @ z for end in ends)
        slope = (up - down) / (2 * step)
        assert support.support == pytest.approx(
            slope * (problem.S[8, m] - seen[m]), rel=1e-3, abs=1e-6
        )


@pytest.mark.parametrize("n", [1, 2])
def test_classes_of_few_rows(problem: Problem, n: int) -> None:
    rows = np.concatenate([np.flatnonzero(problem.y == c)[:n] for c in range(7)])
    model = GaussianMatch(**AS_GIVEN)
    model.fit(problem.X[rows], problem.y[rows], classes=ClassTable(range(10), problem.S))
    assert np.isfinite(model.similarities(problem.test)).all()


def test_rows_that_are_all_alike_are_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="same mean"):
        GaussianMatch().fit(np.ones((14, 3)), np.arange(14) % 7, ClassTable(range(10), problem.S))


def test_shrinkage_that_is_too_small_is_named(problem: Problem) -> None:
    X = np.hstack([problem.X, problem.X])
    with pytest.raises(InputError, match="shrinkage 0 is too small"):
        GaussianMatch(0.0, **AS_GIVEN).fit(X, problem.y, ClassTable(range(10), problem.S))


def test_the_usual_shrinkage_falls_with_the_rows_per_column(problem: Problem) -> None:
    table = ClassTable(range(10), problem.S)
    auto = GaussianMatch(**AS_GIVEN).fit(problem.X, problem.y, table)
    same = GaussianMatch(0.75 / (1 + 82 / 120), **AS_GIVEN).fit(problem.X, problem.y, table)
    # The two settings differ in their last bit, and so do the scores of some machines.
    found, expected = auto.similarities(problem.test), same.similarities(problem.test)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


# -- several descriptions -------------------------------------------------------------------------


def described_twice(problem: Problem) -> ClassTable:
    """The true description in two halves, and one of noise."""
    noise = np.random.default_rng(7).standard_normal((10, 6))
    parts = {"first": problem.S[:, :3], "noise": noise, "second": 100 * problem.S[:, 3:]}
    return ClassTable.beside({name: ClassTable(range(10), part) for name, part in parts.items()})


def test_descriptions_are_weighed_by_what_they_tell(problem: Problem, tmp_path: Any) -> None:
    model = GaussianMatch().fit(problem.X, problem.y, classes=described_twice(problem))
    weights = model.table_weights_
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["noise"] < min(weights["first"], weights["second"])
    model.save(tmp_path / "several.unseen")
    again = load(tmp_path / "several.unseen")
    np.testing.assert_array_equal(
        again.similarities(problem.test), model.similarities(problem.test)
    )
    assert again.table_weights_ == weights


def test_the_mixture_predicts_no_worse_than_any_description_alone(problem: Problem) -> None:
    table = described_twice(problem)

    def error(classes: ClassTable) -> float:
        model = GaussianMatch().fit(problem.X, problem.y, classes=classes)
        means, _ = left_out(model.posterior_)
        return float(np.sum((model.posterior_.means - means) ** 2))

    alone = [ClassTable(range(10), table.vectors[:, group.columns]) for group in table.groups or ()]
    assert error(table) <= min(error(one) for one in alone) + 1e-9


def test_a_description_that_says_nothing_is_named(problem: Problem) -> None:
    parts = {"first": problem.S, "flat": np.ones((10, 2))}
    table = ClassTable.beside({name: ClassTable(range(10), part) for name, part in parts.items()})
    with pytest.raises(InputError, match=r"'flat'.*leave it out"):
        GaussianMatch().fit(problem.X, problem.y, classes=table)


@pytest.mark.parametrize("n_seen", [4, 5, 30])
def test_few_seen_classes_keep_their_rows(n_seen: int) -> None:
    """What unseen classes get in addition does not swallow the rows that were trained on."""
    data = make_zero_shot(
        n_seen=n_seen, n_unseen=4, rows_per_class=20, n_features=40, n_attributes=12, random_state=3
    )
    X, y = data.training_set()
    model = GaussianMatch().fit(X, y, classes=data.classes)
    assert model.score(X, y, "all") > 0.7
    assert model.posterior_.gain >= 0


def test_the_gain_is_at_most_half_the_way_to_the_next_class(problem: Problem) -> None:
    """Class by class: what its rows score with its own mean, with its mean as the others predict
    it, and with the nearest of the other classes, predicted."""
    posterior = problem.model(tails=None).posterior_
    means, _ = left_out(posterior)
    loss, margin = [], []
    for c, (own, n) in enumerate(zip(posterior.means, posterior.counts, strict=True)):
        known = 0.5 * own.size / n
        loss.append(0.5 * np.maximum((own - means[c]) ** 2 - 1 / n, 0).sum() - known)
        margin.append(min(0.5 * ((own - m) ** 2).sum() for m in np.delete(means, c, 0)) - known)
    expected = min(np.mean(loss), np.mean(margin) / 2)
    assert posterior.gain == pytest.approx(expected)


def test_scores_of_both_precisions_by_the_same_candidates(problem: Problem) -> None:
    model = problem.model()
    double = model.similarities(problem.test)
    single = model.similarities(problem.test.astype(np.float32))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(model.similarities(problem.test), double)


def test_where_candidates_are_many_rows_are_few_at_a_time(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else narrow rows would have scores of any size at once."""
    model, X = problem.model(), np.tile(problem.test, (2000, 1))
    rng = np.random.default_rng(0)
    many = ClassTable([f"class {k}" for k in range(500)], rng.standard_normal((500, 5)))
    sizes, score = [], model._score
    monkeypatch.setattr(model, "_score", lambda X, p: sizes.append(len(X)) or score(X, p))
    found = model.predict(X, many)
    assert max(sizes) * 500 * X.itemsize <= BLOCK_BYTES
    assert sum(sizes) == len(X)
    np.testing.assert_array_equal(found[:18], model.predict(problem.test, many))
