"""JLSE: its variants, the generalised setting, ranking, accuracy, memory, real data."""

from __future__ import annotations

import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse
from unseen import ESZSL, JLSE, ClassTable, InputError, make_zero_shot
from unseen.metrics import harmonic_mean, mean_average_precision, per_class_accuracy
from unseen.model.terms import minus_log_p_B
from unseen.solvers.ranking_similarity import ranking_loss

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
    coupled, alone = (fit_jlse(data, training=t, **given) for t in ("pairwise", "instance"))
    X, y = data.unseen_set()
    assert coupled.n_iter_ == 2
    assert np.all(np.diff(coupled.history_[:, -1]) < 0)
    # At the parameters from which both begin, codes of pairs can only lower the objective.
    assert coupled.history_[0, -1] < alone.history_[0, -1]
    assert np.abs(coupled.similarity_ - alone.similarity_).max() > 1e-3
    assert per_class_accuracy(y, coupled.predict(X)) > 0.6
    with pytest.raises(InputError, match="early_stopping"):
        fit_jlse(data, training="pairwise", early_stopping=True)


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
        models[key] = fit_jlse(data, max_iter=rounds, test_embedding=embedding, decision=decision)
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
    model = fit_jlse(data, max_iter=0)
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
    assert fit_jlse(data, max_iter=5, tol=0.9).n_iter_ == 1


def test_early_stopping_chooses_the_rounds_and_refits_on_all(data: Any, rows: np.ndarray) -> None:
    model = fit_jlse(data, early_stopping=True, max_iter=3)
    assert 0 <= model.n_iter_ <= 3
    assert model.source_codes_.shape[0] == data.seen.size
    assert model.target_codes_.shape[0] == data.training_set()[1].size
    plain = fit_jlse(data, max_iter=model.n_iter_)
    np.testing.assert_array_equal(model.similarities(rows), plain.similarities(rows))


def test_saturating_link_makes_ties_and_margin_does_not(data: Any) -> None:
    X, _ = data.training_set()
    saturating = fit_jlse(data, link="saturating", decision=1).similarities(X, "seen")
    assert saturating.max() == 0
    assert np.count_nonzero(saturating == 0) > 1
    assert np.unique(fit_jlse(data, decision=1).similarities(X, "seen")).size == saturating.size


def test_verbose_tells_the_objective_on_stderr(data: Any, capsys: Any) -> None:
    model = fit_jlse(data, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 2
    for line, total in zip(lines, model.history_[1:, 4], strict=True):
        assert line.startswith("JLSE round")
        assert float(line.split("=")[1]) == pytest.approx(total, rel=1e-4)
    fit_jlse(data)
    assert capsys.readouterr().err == ""


# -- generalised setting ------------------------------------------------------------------------


def test_generalized_makes_all_classes_the_default_candidates(data: Any, rows: Any) -> None:
    model = fit_jlse(data, generalized=True)
    np.testing.assert_array_equal(model.classes_, np.sort(data.classes.names))
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows, "all"))
    known = JLSE(generalized=True).fit(*data.training_set(), classes=data.classes.select(data.seen))
    np.testing.assert_array_equal(known.classes_, data.seen)
    later = known.reveal(data.classes.select(data.unseen))
    np.testing.assert_array_equal(later.classes_, model.classes_)
    np.testing.assert_allclose(later.similarities(rows), model.similarities(rows), atol=1e-9)


def test_calibration_is_taken_off_seen_columns_when_they_compete(data: Any, rows: Any) -> None:
    none, some = fit_jlse(data, calibration=None), fit_jlse(data, calibration=0.7)
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
    assert fit_jlse(data, similarity_penalty=1e-3).calibration_ == 0


def test_seen_candidates_are_never_scored_with_pushed_rows(data: Any, model: JLSE) -> None:
    """Algorithm 4 supposes that a row belongs to no seen class."""
    X, _ = data.training_set()
    init = fit_jlse(data, test_embedding="init")
    np.testing.assert_array_equal(model.similarities(X, "seen"), init.similarities(X, "seen"))
    both = model.similarities(X, "all")
    order = np.searchsorted(np.sort(data.classes.names), data.seen)
    np.testing.assert_allclose(
        both[:, order], init.similarities(X, "seen") - model.calibration_, atol=1e-12
    )
    others = np.searchsorted(np.sort(data.classes.names), np.sort(data.unseen))
    np.testing.assert_array_equal(both[:, others], model.similarities(X, "unseen"))


# -- ranking ------------------------------------------------------------------------------------


def test_ranking_puts_rows_of_a_class_above_the_others(data: Any, model: JLSE) -> None:
    X, y = data.training_set()
    labels = np.searchsorted(model.seen_classes_, y)
    options = {"similarity_penalty": 1e-3, "calibration": None}
    plain, ranked = fit_jlse(data, **options), fit_jlse(data, ranking=1.0, **options)
    sizes = [np.sum(m.similarity_**2) + m.bias_**2 for m in (plain, ranked)]
    penalty = plain.history_[-1, 3] / sizes[0]
    values = []
    for found, size in zip((plain, ranked), sizes, strict=True):
        scores = found.target_codes_ @ (found.source_codes_ @ found.similarity_).T
        values.append(ranking_loss(scores, labels)[0] + penalty * size)
    assert values[1] < 0.9 * values[0]
    with pytest.raises(InputError, match="ranking needs loss='squared_hinge'"):
        fit_jlse(data, ranking=0.5, loss="hinge")
    with pytest.raises(InputError, match="ranking is for rows of classes"):
        JLSE(ranking=0.5).fit_pairs(np.eye(2), X[:2], 2 * np.eye(2) - 1)


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
        found = fit_jlse(data, calibration=None).score(*data.unseen_set())
        assert rival > 1.5 / data.unseen.size, "a setting without information tests nothing"
        assert found > 1.5 / data.unseen.size, (setting, seed)
        margins.append(found - rival)
    assert np.mean(margins) > -0.1
    assert min(margins) > -0.25


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("source_set", ["simplex", "affine", "free"])
def test_default_parameters_converge_on_a_small_problem(loss: str, source_set: str) -> None:
    data = make_zero_shot(8, 4, 10, 12, 9, 4, dtype=np.float64)
    fit_jlse(data, loss=loss, source_set=source_set)


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
    # What is compiled is not meant.
    fit_jlse(make_zero_shot(20, 5, 10, n_features=20, dtype=np.float32))
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
