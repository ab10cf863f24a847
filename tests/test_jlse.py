"""JLSE: its variants, the generalised setting, explanations, the cache, edge cases, refusals."""

from __future__ import annotations

import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from unseen import ESZSL, JLSE, ClassTable, InputError, make_zero_shot
from unseen.metrics import harmonic_mean, mean_average_precision, per_class_accuracy
from unseen.model.terms import minus_log_p_B
from unseen.solvers.ranking_similarity import ranking_loss

# The W block stops short of `block_tol` on some small, nearly separable problems and says so;
# what the model then does is still to be tested.


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(
        12, 4, 15, n_features=16, n_attributes=20, n_factors=5, noise=0.4, table_noise=0.2,
        random_state=3, dtype=np.float64,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(data: Any) -> JLSE:
    return fit(data)


@pytest.fixture(scope="module")
def rows(data: Any) -> np.ndarray:
    return data.unseen_set()[0]


def fit(data: Any, **parameters: Any) -> JLSE:
    X, y = data.training_set()
    return JLSE(**parameters).fit(X, y, classes=data.classes)


# -- variants ---------------------------------------------------------------------------------


def test_the_paper_has_the_choices_of_the_paper(data: Any) -> None:
    paper = JLSE.paper(max_iter=1)
    for name, value in {
        "source_set": "simplex", "loss": "hinge", "positive_weight": "uniform", "fit_bias": False,
        "center": False, "dictionary_inertia": 0, "test_margin": None, "max_iter": 1,
        "class_offset": 0,
        "test_embedding": "algorithm 4", "decision": 2,
    }.items():  # fmt: skip
        assert getattr(paper, name) == value, name


@pytest.mark.parametrize("source_set", ["affine", "simplex"])
def test_algorithm_1_is_a_way_to_train(data: Any, source_set: str) -> None:
    given = {"source_set": source_set, "row_kernel": "linear", "max_iter": 2}
    coupled, alone = (fit(data, training=t, **given) for t in ("pairwise", "instance"))
    X, y = data.unseen_set()
    assert coupled.n_iter_ == 2
    assert np.all(np.diff(coupled.history_[:, -1]) < 0)
    # At the parameters from which both begin, codes of pairs can only lower the objective.
    assert coupled.history_[0, -1] < alone.history_[0, -1]
    assert np.abs(coupled.similarity_ - alone.similarity_).max() > 1e-3
    assert per_class_accuracy(y, coupled.predict(X)) > 0.6
    with pytest.raises(InputError, match="early_stopping"):
        fit(data, training="pairwise", early_stopping=True)


def test_the_paper_runs_as_the_paper_says(data: Any) -> None:
    model = JLSE.paper().fit(*data.training_set(), classes=data.classes)
    assert model.bias_ == model.test_bias_ == 0
    assert model.scaling_.mean is None
    assert model.negative_weight_ == pytest.approx(1 / (12 * 180))
    for codes in (model.source_codes_, model.transform_classes()):
        np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-8)
        assert codes.min() >= -1e-9
    assert np.linalg.norm(model.target_dictionary_, axis=0).max() <= 1 + 1e-9
    assert (np.diff(model.history_[:, -1]) <= 0).all()
    assert model.score(*data.unseen_set()) > 1.2 / 4


def test_all_eight_variants_run_and_differ_as_they_should(data: Any, rows: np.ndarray) -> None:
    scores, models = {}, {}
    for rounds, embedding, decision in product((0, 2), ("init", "algorithm 4"), (1, 2)):
        key = (rounds, embedding, decision)
        models[key] = fit(data, max_iter=rounds, test_embedding=embedding, decision=decision)
        scores[key] = models[key].similarities(rows)
        assert models[key].n_iter_ == rounds
        assert models[key].score(*data.unseen_set()) > 0.5
    spread = np.ptp(scores[0, "init", 1])
    for a, b in product(scores, repeat=2):
        if a != b:
            assert np.abs(scores[a] - scores[b]).max() > 1e-4 * spread, (a, b)
    for rounds, embedding in product((0, 2), ("init", "algorithm 4")):
        model = models[rounds, embedding, 2]
        S = model.class_scaling_(data.classes.select(model.classes_).vectors)
        fit_of = minus_log_p_B(
            S, model.transform_classes(), model.source_dictionary_,
            model.test_source_fit * model.source_shrinkage, model.test_source_fit,
        )  # fmt: skip
        difference = scores[rounds, embedding, 2] - scores[rounds, embedding, 1]
        np.testing.assert_allclose(difference, np.tile(-fit_of / 2, (len(rows), 1)), atol=1e-9)
        for name in model.classes_:
            np.testing.assert_array_equal(
                model.rank(name, rows).rows, models[rounds, embedding, 1].rank(name, rows).rows
            )


def test_without_rounds_the_codes_are_those_of_the_start(data: Any) -> None:
    model = fit(data, max_iter=0)
    assert model.n_iter_ == 0
    assert model.history_.shape == (1, 5)
    assert model.kernel_ is not None
    X = model.kernel_(model.scaling_(data.training_set()[0]))
    D = model.target_dictionary_
    np.testing.assert_allclose(D.T @ D, np.eye(D.shape[1]), atol=1e-10)
    np.testing.assert_allclose(model.target_codes_, X @ D / 1.02, atol=1e-8)


def test_history_falls_and_has_parts_that_sum(model: JLSE) -> None:
    assert model.history_.shape == (model.n_iter_ + 1, 5)
    np.testing.assert_allclose(model.history_[:, :4].sum(axis=1), model.history_[:, 4])
    assert (np.diff(model.history_[:, 4]) < 0).all()


def test_tol_ends_training_early(data: Any) -> None:
    assert fit(data, max_iter=5, tol=0.9).n_iter_ == 1


def test_early_stopping_chooses_the_rounds_and_refits_on_all(data: Any, rows: np.ndarray) -> None:
    model = fit(data, early_stopping=True, max_iter=3)
    assert 0 <= model.n_iter_ <= 3
    assert model.source_codes_.shape[0] == data.seen.size
    assert model.target_codes_.shape[0] == data.training_set()[1].size
    plain = fit(data, max_iter=model.n_iter_)
    np.testing.assert_array_equal(model.similarities(rows), plain.similarities(rows))


def test_saturating_link_makes_ties_and_margin_does_not(data: Any) -> None:
    X, _ = data.training_set()
    saturating = fit(data, link="saturating", decision=1).similarities(X, "seen")
    assert saturating.max() == 0
    assert np.count_nonzero(saturating == 0) > 1
    assert np.unique(fit(data, decision=1).similarities(X, "seen")).size == saturating.size


def test_verbose_tells_the_objective_on_stderr(data: Any, capsys: Any) -> None:
    model = fit(data, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 2
    for line, total in zip(lines, model.history_[1:, 4], strict=True):
        assert line.startswith("JLSE round")
        assert float(line.split("=")[1]) == pytest.approx(total, rel=1e-4)
    fit(data)
    assert capsys.readouterr().err == ""


# -- generalised setting ------------------------------------------------------------------------


def test_generalized_makes_all_classes_the_default_candidates(data: Any, rows: Any) -> None:
    model = fit(data, generalized=True)
    np.testing.assert_array_equal(model.classes_, np.sort(data.classes.names))
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows, "all"))
    known = JLSE(generalized=True).fit(*data.training_set(), classes=data.classes.select(data.seen))
    np.testing.assert_array_equal(known.classes_, data.seen)
    later = known.reveal(data.classes.select(data.unseen))
    np.testing.assert_array_equal(later.classes_, model.classes_)
    np.testing.assert_allclose(later.similarities(rows), model.similarities(rows), atol=1e-9)


def test_calibration_is_taken_off_seen_columns_when_they_compete(data: Any, rows: Any) -> None:
    none, some = fit(data, calibration=None), fit(data, calibration=0.7)
    assert (none.calibration_, some.calibration_) == (0.0, 0.7)
    for group in ("seen", "unseen"):
        np.testing.assert_array_equal(
            some.similarities(rows, group), none.similarities(rows, group)
        )
    difference = none.similarities(rows, "all") - some.similarities(rows, "all")
    is_seen = np.isin(np.sort(data.classes.names), data.seen)
    np.testing.assert_allclose(difference[:, is_seen], 0.7, atol=1e-12)
    np.testing.assert_array_equal(difference[:, ~is_seen], 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_held_out_calibration_improves_the_harmonic_mean(seed: int) -> None:
    data = make_zero_shot(rows_per_class=25, noise=0.7, random_state=seed)
    X, y = data.training_set()
    new = np.arange(y.size) % 25 >= 20
    model = JLSE().fit(X[~new], y[~new], classes=data.classes)
    again = JLSE().fit(X[~new], y[~new], classes=data.classes)
    assert model.calibration_ == again.calibration_

    def harmonic(of: JLSE) -> float:
        unseen_X, unseen_y = data.unseen_set()
        seen_accuracy = per_class_accuracy(y[new], of.predict(X[new], "all"))
        unseen_accuracy = per_class_accuracy(unseen_y, of.predict(unseen_X, "all"))
        return harmonic_mean(seen_accuracy, unseen_accuracy)

    calibrated = harmonic(model)
    model.calibration_ = 0.0
    assert calibrated > harmonic(model)


def test_few_classes_are_not_calibrated() -> None:
    data = make_zero_shot(5, 2, 10, n_features=20)
    assert fit(data, similarity_penalty=1e-3).calibration_ == 0


def test_seen_candidates_are_never_scored_with_pushed_rows(data: Any, model: JLSE) -> None:
    """Algorithm 4 supposes that a row belongs to no seen class."""
    X, _ = data.training_set()
    init = fit(data, test_embedding="init")
    np.testing.assert_array_equal(model.similarities(X, "seen"), init.similarities(X, "seen"))
    both = model.similarities(X, "all")
    order = np.searchsorted(np.sort(data.classes.names), data.seen)
    np.testing.assert_allclose(
        both[:, order], init.similarities(X, "seen") - model.calibration_, atol=1e-12
    )
    others = np.searchsorted(np.sort(data.classes.names), np.sort(data.unseen))
    np.testing.assert_array_equal(both[:, others], model.similarities(X, "unseen"))


# -- rows, candidates and the cache -------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("candidates", ["unseen", "all"])
def test_one_row_equals_a_batch(dtype: Any, candidates: str, data: Any) -> None:
    X, y = data.training_set()
    model = JLSE().fit(X.astype(dtype), y, classes=data.classes)
    rows = data.unseen_set()[0].astype(dtype)
    batch = model.similarities(rows, candidates)
    single = np.vstack([model.similarities(row[None], candidates) for row in rows])
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(single, batch, atol=tolerance * np.ptp(batch))


def test_block_size_does_not_matter(data: Any, model: JLSE, monkeypatch: Any) -> None:
    rows, whole = data.unseen_set()[0], model.similarities(data.unseen_set()[0], "all")
    monkeypatch.setattr("unseen.blocks.row_blocks.__defaults__", (16 * 8 * 7,))
    np.testing.assert_allclose(model.similarities(rows, "all"), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        fit(data).similarities(rows, "all"), whole, atol=0.05 * np.ptp(whole)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"test_embedding": "init"},
        {"decision": 1},
        {"test_source_fit": 0.3},
        {"test_target_fit": 1.0},
        {"link": "saturating"},
        {"class_offset": 0.0},
    ],
    ids=str,
)
def test_changed_test_time_parameters_take_effect_at_once(
    change: dict[str, Any], data: Any, rows: np.ndarray
) -> None:
    model = fit(data, calibration=None)
    before = model.similarities(rows, "all")
    after = model.set_params(**change).similarities(rows, "all")
    assert np.abs(after - before).max() > 1e-6
    fresh = fit(data, calibration=None, **change)
    np.testing.assert_allclose(after, fresh.similarities(rows, "all"), rtol=1e-12)


def test_the_level_of_a_class_comes_off_its_scores_and_only_with_algorithm_4(
    data: Any, rows: np.ndarray
) -> None:
    model = fit(data, calibration=None, class_offset=0.0)
    seen, unseen = model.similarities(rows, data.seen), model.similarities(rows)
    on_training = model.target_codes_ @ (model.transform_classes() @ model.similarity_).T
    level = np.quantile(on_training + model.bias_, 0.98, axis=0)
    model.set_params(class_offset=0.5)
    np.testing.assert_allclose(model.similarities(rows), unseen - 0.5 * level, rtol=1e-6)
    np.testing.assert_array_equal(model.similarities(rows, data.seen), seen)

    model.set_params(test_embedding="init")
    with_level = model.similarities(rows)
    model.set_params(class_offset=0.0)
    np.testing.assert_array_equal(model.similarities(rows), with_level)


def test_refit_and_reveal_do_not_answer_from_before(data: Any, rows: np.ndarray) -> None:
    model = fit(data)
    model.similarities(rows)
    X, y = data.training_set()
    half = np.arange(y.size) % 2 == 0
    model.fit(X[half], y[half], classes=data.classes)
    fresh = JLSE().fit(X[half], y[half], classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))

    revealed = model.reveal({"mean": data.classes.vectors.mean(axis=0)})
    assert revealed.similarities(rows).shape[1] == 5
    revealed.fit(X, y, classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))
    np.testing.assert_array_equal(revealed.similarities(rows), fit(data).similarities(rows))


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
    model = fit(data, block_tol=1e-4)
    new = [name.format(k) for k in range(data.classes.n_classes)]
    names = dict(zip(data.classes.names.tolist(), new, strict=True))
    X, y = data.training_set()
    table = ClassTable([*names.values()], data.classes.vectors)
    other = JLSE(block_tol=1e-4).fit(X, [names[n] for n in y.tolist()], classes=table)
    S = data.classes.select(data.unseen).vectors
    expected = model.score_pairs(S, rows)
    np.testing.assert_allclose(other.score_pairs(S, rows), expected, atol=0.05 * np.ptp(expected))


# -- ranking ------------------------------------------------------------------------------------


def test_ranking_puts_rows_of_a_class_above_the_others(data: Any, model: JLSE) -> None:
    X, y = data.training_set()
    labels = np.searchsorted(model.seen_classes_, y)
    options = {"similarity_penalty": 1e-3, "calibration": None}
    plain, ranked = fit(data, **options), fit(data, ranking=1.0, **options)
    sizes = [np.sum(m.similarity_**2) + m.bias_**2 for m in (plain, ranked)]
    penalty = plain.history_[-1, 3] / sizes[0]
    values = []
    for found, size in zip((plain, ranked), sizes, strict=True):
        scores = found.target_codes_ @ (found.source_codes_ @ found.similarity_).T
        values.append(ranking_loss(scores, labels)[0] + penalty * size)
    assert values[1] < 0.9 * values[0]
    with pytest.raises(InputError, match="ranking needs loss='squared_hinge'"):
        fit(data, ranking=0.5, loss="hinge")
    with pytest.raises(InputError, match="ranking is for rows of classes"):
        JLSE(ranking=0.5).fit_pairs(np.eye(2), X[:2], 2 * np.eye(2) - 1)


# -- explanations -------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["seen", "unseen"])
def test_contributions_sum_to_the_similarity(group: str, data: Any, rows: np.ndarray) -> None:
    model = fit(data, decision=1, class_offset=0.0)
    name = getattr(model, f"{group}_classes_")[1].item()
    found = model.explain(rows[3], name, top=10_000)
    score = model.similarities(rows[3:4], [name])[0, 0]
    assert found.name == name
    assert found.similarity == pytest.approx(score, abs=1e-9)
    assert found.bias == model.bias_
    for parts in (found.links, found.atoms):
        total = sum(part.contribution for part in parts)
        assert total == pytest.approx(score - model.bias_, abs=1e-9)
    assert len(found.links) == model.similarity_.size


def test_explanation_names_atoms_and_attributes(data: Any) -> None:
    words = [f"attribute {k}" for k in range(data.classes.n_attributes)]
    table = ClassTable(data.classes.names, data.classes.vectors, words)
    X, y = data.training_set()
    model = JLSE().fit(X, y, classes=table)
    own = model.explain(X[0], y[0].item(), top=3)
    assert len(own.links) == len(own.atoms) == len(own.attributes) == 3
    assert max(own.atoms, key=lambda a: a.contribution).source_atom == y[0]
    assert {a.source_atom for a in own.atoms} <= set(data.seen.tolist())
    assert {a.attribute for a in own.attributes} <= set(words)
    sizes = [abs(link.contribution) for link in own.links]
    assert sizes == sorted(sizes, reverse=True)
    scaled = model.class_scaling_(table.vectors)[table.rows([y[0].item()])[0]]
    for part in own.attributes:
        assert part.is_above == (scaled[words.index(part.attribute)] > 0)
    text = str(own)
    for word in (y[0], own.attributes[0].attribute, "similarity", "bias"):
        assert word in text
    assert len(text.splitlines()) < 20


def test_attributes_speak_for_the_own_class_more_than_for_others(data: Any, model: JLSE) -> None:
    """Over training rows the support of the own class is above that of the next class."""
    X, y = data.training_set()
    names = data.seen.tolist()

    def support(k: int, shift: int) -> float:
        name = names[(names.index(y[k].item()) + shift) % len(names)]
        return sum(a.support for a in model.explain(X[k], name, top=100).attributes)

    chosen = range(0, y.size, 9)
    assert np.mean([support(k, 0) > support(k, 1) for k in chosen]) > 0.9


def test_columns_and_centres_without_names_have_numbers(data: Any) -> None:
    model = fit(data, n_source_atoms=5, similarity_penalty=1e-3)
    found = model.explain(data.X[0], model.classes_[0].item())
    assert all(a.source_atom.startswith("source atom ") for a in found.atoms)
    assert all(a.attribute.startswith("column ") for a in found.attributes)


def test_explain_tells_the_score_and_names_the_class_itself(
    data: Any, model: JLSE, rows: np.ndarray
) -> None:
    name = model.predict(rows[:1])[0]
    found = model.explain(rows[0])
    assert found == model.explain(rows[0], name)
    assert found.score == model.similarities(rows[:1], [name])[0, 0]
    # What is not the similarity belongs to the class as a whole, so it is the same for all rows.
    others = [model.explain(row, name) for row in rows[1:6]]
    expected = found.score - found.similarity
    assert [o.score - o.similarity for o in others] == pytest.approx([expected] * 5, abs=1e-6)
    assert abs(expected) > 1e-3


def test_explain_takes_one_row_in_any_form(data: Any, model: JLSE, rows: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    name = model.classes_[0].item()
    expected = model.explain(rows[0], name)
    for form in (rows[:1], rows[0].tolist()):
        assert model.explain(form, name) == expected
    X, y = data.training_set()
    columns = [f"f{k}" for k in range(X.shape[1])]
    named = JLSE().fit(pandas.DataFrame(X, columns=columns), y, classes=data.classes)
    frame = pandas.DataFrame(rows, columns=columns)
    for form in (frame.iloc[:1], frame.iloc[0]):
        assert named.explain(form, name) == named.explain(frame.iloc[:1], name)
    for bad in (rows[:2], rows[:0], 3.0):
        with pytest.raises(InputError, match="one row"):
            model.explain(bad, name)


# -- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        {"n_seen": 30, "n_attributes": 3, "n_factors": 3},
        {"n_seen": 2},
        {"n_seen": 3},
        {"n_attributes": 1},
        {"n_features": 1},
        {"n_features": 6},
        {"rows_per_class": 1},
        {"noise": 0.0},
        pytest.param({"n_seen": 210, "rows_per_class": 2}, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [JLSE, JLSE.paper], ids=["default", "paper"])
def test_odd_shapes(shape: dict[str, Any], make: Any) -> None:
    data = make_zero_shot(**{"n_seen": 8, "n_unseen": 3, "rows_per_class": 10, **shape})
    model = make().fit(*data.training_set(), classes=data.classes)
    scores = model.similarities(data.X, "all")
    assert np.isfinite(scores).all()
    assert (np.diff(model.history_[:, 4]) <= 1e-6 * model.history_[0, 4]).all()
    n_rows, n_columns = data.training_set()[0].shape
    most = n_columns if model.row_kernel == "linear" else n_rows
    assert model.target_dictionary_.shape[1] <= min(most, model.n_target_atoms)


@pytest.mark.parametrize("make", [JLSE, JLSE.paper], ids=["default", "paper"])
def test_classes_with_one_description(make: Any, data: Any) -> None:
    table = ClassTable(data.classes.names, np.repeat(data.classes.vectors[::2], 2, axis=0))
    model = make().fit(*data.training_set(), classes=table)
    scores = model.similarities(data.X, "unseen")
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-9 * np.ptp(scores))
    assert np.isfinite(model.similarities(data.X, "all")).all()


def test_constant_columns_change_nothing_but_the_width(data: Any, rows: np.ndarray) -> None:
    X, y = data.training_set()
    padded = np.hstack([X, np.zeros((len(X), 2))])
    model = JLSE().fit(padded, y, classes=data.classes)
    wide = np.hstack([rows, np.zeros((len(rows), 2))])
    expected = fit(data).similarities(rows)
    assert np.abs(model.similarities(wide) - expected).max() <= 0.05 * np.ptp(expected)
    constant = np.hstack([X, np.full((len(X), 1), 3.0)])
    assert JLSE().fit(constant, y, classes=data.classes).score(constant, y, "seen") > 0.5


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rows_that_tell_nothing_give_finite_scores(value: float, data: Any) -> None:
    X, y = data.training_set()
    nothing = np.full_like(X, value)
    assert np.isfinite(JLSE().fit(nothing, y, classes=data.classes).similarities(X, "all")).all()


def test_a_row_of_zeros_is_scored(model: JLSE) -> None:
    assert np.isfinite(model.similarities(np.zeros((1, 16)), "all")).all()


# -- accuracy -----------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {},
    {"noise": 1.0},
    {"class_similarity": 0.6},
    {"class_similarity": 0.9, "noise": 0.3},
    {"n_attributes": 10},
    {"n_attributes": 300},
    {"n_features": 8, "n_factors": 6},
    {"table_noise": 0.5},
    {"n_seen": 60, "rows_per_class": 10, "n_unseen": 20},
    {"n_seen": 8, "n_factors": 5, "n_unseen": 4},
]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_never_chance_where_eszsl_is_not(seed: int) -> None:
    margins = []
    for setting in SETTINGS:
        data = make_zero_shot(**{"rows_per_class": 20, **setting}, random_state=seed)
        rival = ESZSL().fit(*data.training_set(), classes=data.classes).score(*data.unseen_set())
        found = fit(data, calibration=None).score(*data.unseen_set())
        assert rival > 1.5 / data.unseen.size, "a setting without information tests nothing"
        assert found > 1.5 / data.unseen.size, (setting, seed)
        margins.append(found - rival)
    assert np.mean(margins) > -0.1
    assert min(margins) > -0.25


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("source_set", ["simplex", "affine", "free"])
def test_default_parameters_converge_on_a_small_problem(loss: str, source_set: str) -> None:
    data = make_zero_shot(8, 4, 10, 12, 9, 4, dtype=np.float64)
    fit(data, loss=loss, source_set=source_set)


# -- memory -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_memory_map_is_trained_on_block_by_block(tmp_path: Path, monkeypatch: Any) -> None:
    """80 MB of rows with blocks of 4 MB: a few blocks and what is N x h, not the rows.

    Landmarks are few here, as their kernel matrix takes its memory whatever the number of rows.
    """
    data = make_zero_shot(20, 5, 400, n_features=2000, out=tmp_path / "X.npy")
    monkeypatch.setattr("unseen.blocks.row_blocks.__defaults__", (4 * 2**20,))
    X, y = data.X[: 20 * 400], data.y[: 20 * 400]
    assert isinstance(X, np.memmap)
    model = JLSE(n_target_atoms=50, n_landmarks=400)
    fit(make_zero_shot(20, 5, 10, n_features=20, dtype=np.float32))  # what is compiled is not meant
    tracemalloc.start()
    try:
        model.fit(X, y, classes=data.classes)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        model.predict(data.X, "all")
        peak_predict = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
    assert peak_predict < 0.5 * data.X.nbytes
    assert model.score(*data.unseen_set()) > 0.5


# -- real data ----------------------------------------------------------------------------------


def birds(folder: Path) -> tuple[Any, ...]:
    """CUB by its own text files: rows, labels, class table and the names of the 50 test classes."""
    own = folder / "CUB" / "CUB_200_2011"
    names = np.array([line.split()[1] for line in (own / "classes.txt").read_text().splitlines()])
    vectors = np.loadtxt(own / "attributes" / "class_attribute_labels_continuous.txt")
    test = (folder / "CUB" / "ps_testclasses.txt").read_text().split()
    with np.load(folder / "CUB" / "efflite0.npz") as stored:
        X, labels = stored["features"].astype(np.float32), stored["labels"]
    return X, names[labels - 1], ClassTable(names, vectors), test


@pytest.mark.slow
def test_recognises_unseen_birds(data_folder: Path) -> None:
    X, y, table, test = birds(data_folder)
    unseen = np.isin(y, test)
    assert np.unique(y[unseen]).size == 50
    model = JLSE(calibration=None).fit(X[~unseen], y[~unseen], classes=table)
    assert set(model.classes_) == set(test)
    scores = model.similarities(X[unseen])
    assert per_class_accuracy(y[unseen], model.classes_[scores.argmax(axis=1)]) >= 0.60
    assert mean_average_precision(y[unseen], scores, model.classes_) >= 0.50


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("source_set", "ball"),
        ("loss", "logistic"),
        ("decision", 3),
        ("link", "identity"),
        ("test_embedding", "algorithm 5"),
        ("n_target_atoms", 0),
        ("n_target_atoms", 2.5),
        ("n_source_atoms", 0),
        ("n_source_atoms", "all"),
        ("similarity_penalty", "x"),
        ("similarity_penalty", 0),
        ("positive_weight", -1),
        ("positive_weight", "heavy"),
        ("positive_weight", None),
        ("test_margin", 2),
        ("test_margin", -0.1),
        ("test_margin", "0.9"),
        ("max_iter", -1),
        ("max_iter", 1.5),
        ("calibration", "x"),
        ("calibration", np.nan),
        ("calibration", True),
        ("source_fit", 0),
        ("target_fit", -1),
        ("test_source_fit", 0),
        ("test_target_fit", np.inf),
        ("source_shrinkage", -1),
        ("target_shrinkage", np.nan),
        ("tol", -1e-3),
        ("dictionary_inertia", -1),
        ("class_offset", -1),
        ("block_tol", 0),
    ],
)
def test_refuses_a_bad_parameter_by_name(name: str, bad: Any, data: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        fit(data, **{name: bad})


def test_refuses_early_stopping_with_too_few_classes() -> None:
    data = make_zero_shot(3, 2, 10)
    with pytest.raises(InputError, match=r"early_stopping .* at least 4; there are 3"):
        fit(data, early_stopping=True)
