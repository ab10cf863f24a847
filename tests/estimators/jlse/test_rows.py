"""JLSE at test time: blocks of rows, candidates, and what is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tests.common.small import fit_jlse, small_jlse, small_kernel_jlse
from unseen import JLSE, ClassTable, InputError
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("candidates", ["unseen", "all"])
def test_one_row_equals_a_batch(dtype: Any, candidates: str, data: Any) -> None:
    X, _ = data.training_set()
    model = fit_jlse(data, X=X.astype(dtype))
    rows = data.unseen_set()[0].astype(dtype)
    batch = model.similarities(rows, candidates)
    single = np.vstack([model.similarities(row[None], candidates) for row in rows])
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(single, batch, atol=tolerance * np.ptp(batch))


def test_block_size_does_not_matter(data: Any, model: JLSE, monkeypatch: Any) -> None:
    rows, whole = data.unseen_set()[0], model.similarities(data.unseen_set()[0], "all")
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (16 * 8 * 7,))
    np.testing.assert_allclose(model.similarities(rows, "all"), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        fit_jlse(data).similarities(rows, "all"), whole, atol=0.05 * np.ptp(whole)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"testing": DataFit()},
        {"testing": Algorithm3()},
        {"decision": 1},
        {"testing__source_fit": 0.3},
        {"testing__target_fit": 1.0},
        {"testing__offset": 0.5},
    ],
    ids=str,
)
def test_changed_test_time_parameters_take_effect_at_once(
    change: dict[str, Any], data: Any, rows: np.ndarray
) -> None:
    model = fit_jlse(data)
    before = model.similarities(rows, "all")
    after = model.set_params(**change).similarities(rows, "all")
    assert np.abs(after - before).max() > 1e-6
    fresh = fit_jlse(data, **change)
    np.testing.assert_allclose(after, fresh.similarities(rows, "all"), rtol=1e-12)


def test_the_level_of_an_unseen_class_comes_off_its_scores(data: Any, rows: np.ndarray) -> None:
    model = fit_jlse(data, testing=Algorithm4(offset=0.0), keep_codes=True)
    seen, unseen = model.similarities(rows, data.seen), model.similarities(rows)
    assert model.latent_.Zt is not None
    on_training = model.latent_.Zt @ (model.transform_classes() @ model.latent_.W).T
    level = np.quantile(on_training, 0.98, axis=0)
    model.set_params(testing__offset=0.5)
    np.testing.assert_allclose(model.similarities(rows), unseen - 0.5 * level, rtol=1e-6)
    np.testing.assert_array_equal(model.similarities(rows, data.seen), seen)


def test_refit_and_reveal_do_not_answer_from_before(data: Any, rows: np.ndarray) -> None:
    model = fit_jlse(data)
    model.similarities(rows)
    X, y = data.training_set()
    half = np.arange(y.size) % 2 == 0
    model.fit(X[half], y[half], classes=data.classes)
    fresh = small_jlse().fit(X[half], y[half], classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))

    revealed = model.reveal({"mean": data.classes.vectors.mean(axis=0)})
    assert revealed.similarities(rows).shape[1] == 5
    revealed.fit(X, y, classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))
    np.testing.assert_array_equal(revealed.similarities(rows), fit_jlse(data).similarities(rows))


def test_many_sets_of_candidates_push_each_other_out(data: Any, model: JLSE, rows: Any) -> None:
    names = data.classes.names
    pairs = [[names[k], names[k + 1]] for k in range(names.size - 1)]
    first = [model.similarities(rows, pair) for pair in pairs]
    for pair, expected in zip(pairs, first, strict=True):
        np.testing.assert_array_equal(model.similarities(rows, pair), expected)


def test_clone_takes_nothing_along(model: JLSE) -> None:
    fresh: Any = clone(model)
    assert not set(vars(fresh)) - set(model.get_params())


def test_a_known_name_with_another_description_is_a_new_class(
    data: Any, model: JLSE, rows: np.ndarray
) -> None:
    seen, new = data.seen[0].item(), data.unseen[0].item()
    other = ClassTable([seen], data.classes.vector(new)[None])
    expected = model.similarities(rows, [new])
    np.testing.assert_allclose(model.similarities(rows, other), expected, atol=1e-9)


def test_codes_do_not_depend_on_the_other_candidates(model: JLSE, rows: np.ndarray) -> None:
    together = model.similarities(rows)
    alone = np.hstack([model.similarities(rows, [name]) for name in model.classes_])
    turned = model.similarities(rows, model.classes_[::-1])[:, ::-1]
    np.testing.assert_allclose(alone, together, atol=1e-9 * np.ptp(together))
    np.testing.assert_allclose(turned, together, atol=1e-9 * np.ptp(together))


def test_score_pairs_equals_similarities_with_a_table(data: Any, model: JLSE, rows: Any) -> None:
    S = data.classes.select(model.classes_).vectors
    scores = model.score_pairs(S, rows)
    assert scores.shape == (len(rows), len(S))
    np.testing.assert_allclose(scores, model.similarities(rows), rtol=1e-12)
    np.testing.assert_allclose(model.score_pairs(S[0], rows[:1]), scores[:1, :1], rtol=1e-6)
    with pytest.raises(InputError, match="3 columns"):
        model.score_pairs(np.ones((1, 3)), rows)


@pytest.mark.parametrize("name", ["pair {}", "{}"])
def test_score_pairs_is_not_misled_by_names(name: str, data: Any, rows: Any) -> None:
    """Classes that happen to be called "pair 0", or by numbers."""
    model = fit_jlse(data, training__block_tol=1e-4)
    new = [name.format(k) for k in range(data.classes.n_classes)]
    names = dict(zip(data.classes.names.tolist(), new, strict=True))
    X, y = data.training_set()
    table = ClassTable([*names.values()], data.classes.vectors)
    other = small_jlse(training__block_tol=1e-4).fit(
        X, [names[n] for n in y.tolist()], classes=table
    )
    S = data.classes.select(data.unseen).vectors
    expected = model.score_pairs(S, rows)
    np.testing.assert_allclose(other.score_pairs(S, rows), expected, atol=0.05 * np.ptp(expected))


# -- what is kept between rows --------------------------------------------------------------------


@pytest.mark.parametrize("make", [small_jlse, small_kernel_jlse])
@pytest.mark.parametrize("testing", [None, DataFit(), Algorithm3()], ids=repr)
@pytest.mark.parametrize("candidates", [None, "all"])
def test_the_second_single_row_computes_nothing_anew(
    make: Any, testing: Any, candidates: Any, data: Any, rows: Any, monkeypatch: Any
) -> None:
    """Inverses, grams, eigenvectors and codes of classes are there after the first."""
    model = make(testing=testing).fit(*data.training_set(), classes=data.classes)
    expected = model.predict(rows[:2], candidates)
    assert model.predict(rows[:1], candidates) == expected[0]

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed anew")

    for place in (
        "unseen.solvers.block.Ridge._inverse",
        "unseen.model.latent.fit_source_codes",
        "unseen.inference.embedding.fit_source_codes_with_pairs",
        "unseen.inference.embedding.TargetSolver",
        "unseen.inference.embedding.class_levels",
        "unseen.inference.pairwise.PairCodes",
        "unseen.model.latent.Spaces.describe",
        "numpy.linalg.eigh",
        "numpy.linalg.inv",
        "numpy.linalg.cholesky",
        "scipy.linalg.eigh",
        "scipy.linalg.cho_factor",
    ):
        monkeypatch.setattr(place, refuse)
    assert model.predict(rows[1:2], candidates) == expected[1]


def test_the_scorer_is_kept_until_something_of_test_time_changes(data: Any, rows: Any) -> None:
    model = fit_jlse(data)
    model.predict(rows[:1])
    first = model._scorer
    model.predict(rows, "all")
    assert model._scorer is first
    model.set_params(testing__offset=0.25)
    assert model._scorer is not first
    model.set_params(testing__offset=0.0, decision=1)
    assert model._scorer is not first
