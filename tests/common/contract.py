"""What every estimator of the library must do, whatever its method.

`tests/estimators/test_estimators.py` runs these for each entry of the registry.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import unseen
from unseen import ClassTable, InputError, make_zero_shot
from unseen.classes import ClassHoldout
from unseen.errors import TrustWarning
from unseen.estimators import METHODS, ZeroShotClassifier
from unseen.evaluation.tuning.settings import is_range
from unseen.model import pulls
from unseen.storage import models, tensors
from unseen.support import work

# scikit-learn checks that an estimator may fail, with the reason. Empty is best.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


class Contract:
    """Behaviours shared by all estimators; a test class gives the name of the method."""

    method: str
    # How far, as a share of the spread of the scores, two fits of the same problem may differ.
    agreement = 1e-6
    # Parameters with which a fit of these small problems is quick.
    quick: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls) -> unseen.ZeroShotDataset:
        return make_zero_shot(
            n_seen=12, n_unseen=4, rows_per_class=15, n_features=16, n_attributes=20, n_factors=5,
            noise=0.4, table_noise=0.2, random_state=3, dtype=np.float64,
        )  # fmt: skip

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, data: unseen.ZeroShotDataset) -> Any:
        return cls.make().fit(*data.training_set(), classes=data.classes)

    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls, data: unseen.ZeroShotDataset) -> np.ndarray:
        return data.unseen_set()[0]

    @pytest.fixture(scope="class")
    @classmethod
    def whole_scores(cls, data: unseen.ZeroShotDataset) -> np.ndarray:
        """Scores after a fit on whole numbers."""
        X, y = data.training_set()
        whole = np.round(8 * X)
        return cls.make().fit(whole, y, classes=data.classes).similarities(whole[:7])

    @classmethod
    def make(cls) -> ZeroShotClassifier:
        return METHODS[cls.method]().set_params(**cls.quick)

    def test_a_warning_points_at_the_line_of_the_user(self, data: Any) -> None:
        vectors = data.classes.vectors.copy()
        vectors[-1] = vectors[-2]
        table = ClassTable(data.classes.names, vectors)
        pipe = make_pipeline(FunctionTransformer(), self.make())
        name = type(self.make()).__name__.lower()
        with pytest.warns(TrustWarning, match="have the same description") as caught:
            pipe.fit(*data.training_set(), **{f"{name}__classes": table})
        assert {w.filename for w in caught if w.category is TrustWarning} == {__file__}

    # -- scikit-learn ---------------------------------------------------------------------------

    def test_passes_the_checks_of_scikit_learn(self) -> None:
        expected = EXPECTED_FAILURES.get(self.method, {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_estimator(self.make(), expected_failed_checks=expected, on_skip=None)

    def test_clone_has_the_same_parameters_and_no_state(self, fitted: Any) -> None:
        fresh: Any = clone(fitted)
        assert fresh.get_params() == fitted.get_params()
        assert not [name for name in vars(fresh) if name.endswith("_")]

    def test_default_grid_holds_the_defaults(self) -> None:
        grid, defaults = self.make().default_grid(), METHODS[self.method]().get_params()
        assert grid, "a method without anything to tune should say so here"
        assert set(grid) <= set(defaults)
        for name, values in grid.items():
            if is_range(values):
                low, high = values.support()
                assert low < defaults[name] < high
            else:
                assert defaults[name] in values

    def test_works_at_the_end_of_a_pipeline(self, data: Any, fitted: Any, rows: Any) -> None:
        name = type(fitted).__name__.lower()
        pipe = make_pipeline(FunctionTransformer(), self.make())
        X, y = data.training_set()
        pipe.fit(X, y, **{f"{name}__classes": data.classes})
        np.testing.assert_array_equal(pipe.predict(rows), fitted.predict(rows))
        everything = pipe.predict(rows, candidates="all")
        np.testing.assert_array_equal(everything, fitted.predict(rows, candidates="all"))

    def test_metadata_routing_brings_the_class_table(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        X, y = data.training_set()
        with config_context(enable_metadata_routing=True):
            step: Any = self.make()
            step.set_fit_request(classes=True).set_predict_request(candidates=True)
            pipe = make_pipeline(FunctionTransformer(), step).fit(X, y, classes=data.classes)
            found = pipe.predict(rows, candidates="all")
        np.testing.assert_array_equal(found, fitted.predict(rows, candidates="all"))

    def test_grid_search_with_class_holdout(self, data: Any) -> None:
        X, y = data.training_set()
        name, values = next(iter(self.make().default_grid().items()))
        two = values.rvs(2, random_state=0) if is_range(values) else values[:2]
        search = GridSearchCV(self.make(), {name: two}, cv=ClassHoldout(3, 1))
        search.fit(X, y, classes=data.classes.select(data.seen))
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        best: Any = search.best_estimator_
        assert set(best.reveal(data.classes).classes_) == set(data.unseen)

    def test_set_output_gives_a_named_frame(self, data: Any, rows: Any) -> None:
        model: Any = self.make().set_output(transform="pandas")
        frame = model.fit(*data.training_set(), classes=data.classes).transform(rows)
        assert list(frame.columns) == list(model.get_feature_names_out())
        assert frame.shape[0] == rows.shape[0]

    # -- zero-shot ------------------------------------------------------------------------------

    def test_recognises_unseen_classes_far_above_chance(self, data: Any, fitted: Any) -> None:
        X, y = data.unseen_set()
        assert fitted.score(X, y) > 2 / data.unseen.size

    def test_default_candidates_are_the_unseen_classes(self, data: Any, fitted: Any) -> None:
        np.testing.assert_array_equal(fitted.classes_, np.sort(data.unseen))
        np.testing.assert_array_equal(fitted.seen_classes_, data.seen)

    def test_refuses_to_score_classes_that_cannot_be_named(self, data: Any, fitted: Any) -> None:
        X, y = data.training_set()
        with pytest.raises(InputError, match=r"'class 00', which is not among .*'seen' or 'all'"):
            fitted.score(X, y)
        assert fitted.score(X, y, candidates="seen") > 2 / data.seen.size
        X, y = data.unseen_set()
        with pytest.raises(InputError, match=r"'clss 12', .*; nearest name: 'class 12'"):
            fitted.score(X, np.where(y == "class 12", "clss 12", y))

    def test_refuses_rank_with_its_arguments_swapped(self, fitted: Any, rows: Any) -> None:
        with pytest.raises(InputError, match="the name of a class first and the rows second"):
            fitted.rank(rows, fitted.classes_[0])

    def test_without_unseen_classes_it_is_an_ordinary_classifier(self, data: Any) -> None:
        X, y = data.training_set()
        with pytest.warns(TrustWarning, match="an ordinary classifier"):
            model = self.make().fit(X, y)
        np.testing.assert_array_equal(model.classes_, np.unique(y))
        assert model.unseen_classes_.size == 0
        assert model.score(X, y) > 3 / model.classes_.size

    def test_candidates_in_all_their_forms(self, data: Any, fitted: Any, rows: Any) -> None:
        unseen_names = sorted(data.unseen.tolist())
        by_name = fitted.similarities(rows, unseen_names)
        for form in (None, "unseen", np.array(unseen_names), data.classes.select(unseen_names)):
            np.testing.assert_allclose(fitted.similarities(rows, form), by_name, rtol=1e-12)
        assert set(fitted.predict(rows, candidates=unseen_names[:2])) <= set(unseen_names[:2])
        assert set(fitted.predict(rows, candidates="seen")) <= set(data.seen)
        assert fitted.similarities(rows, "all").shape[1] == data.classes.n_classes

    def test_columns_of_a_new_table_are_matched_by_name(self, data: Any, rows: Any) -> None:
        names = [f"attribute {k}" for k in range(data.classes.n_attributes)]
        table = ClassTable(data.classes.names, data.classes.vectors, names)
        model = self.make().fit(*data.training_set(), classes=table)
        turned = table.select(data.unseen).subset(names[::-1])
        np.testing.assert_allclose(
            model.similarities(rows, turned), model.similarities(rows, data.unseen), rtol=1e-12
        )
        with pytest.raises(InputError, match="no attribute 'attribute 0'"):
            model.predict(rows, ClassTable(turned.names, turned.vectors, [*names[1:], "x"]))

    def test_order_of_candidates_only_reorders_columns(self, fitted: Any, rows: Any) -> None:
        names = fitted.classes_
        straight, turned = fitted.similarities(rows, names), fitted.similarities(rows, names[::-1])
        np.testing.assert_allclose(turned[:, ::-1], straight, rtol=1e-12)

    def test_decision_function_follows_scikit_learn(self, fitted: Any, rows: Any) -> None:
        full = fitted.decision_function(rows)
        np.testing.assert_array_equal(fitted.classes_[full.argmax(axis=1)], fitted.predict(rows))
        two = fitted.decision_function(rows, fitted.classes_[:2])
        pair = fitted.similarities(rows, fitted.classes_[:2])
        np.testing.assert_allclose(two, pair[:, 1] - pair[:, 0])

    def test_top_k_is_sorted_and_begins_with_the_prediction(self, fitted: Any, rows: Any) -> None:
        best = fitted.top_k(rows, 3)
        assert best.names.shape == best.scores.shape == (rows.shape[0], 3)
        np.testing.assert_array_equal(best.names[:, 0], fitted.predict(rows))
        assert (np.diff(best.scores, axis=1) <= 0).all()

    def test_rank_sorts_all_rows_by_the_score_of_one_class(self, fitted: Any, rows: Any) -> None:
        name = fitted.classes_[0]
        ranking = fitted.rank(name, rows)
        scores = fitted.similarities(rows, [name])[:, 0]
        assert sorted(ranking.rows) == list(range(rows.shape[0]))
        np.testing.assert_array_equal(ranking.scores, np.sort(scores)[::-1])
        np.testing.assert_array_equal(fitted.rank(name, rows, k=3).rows, ranking.rows[:3])

    def test_reveal_equals_knowing_the_classes_from_the_start(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        X, y = data.training_set()
        model = self.make().fit(X, y, classes=data.classes.select(data.seen))
        later = model.reveal(data.classes.select(data.unseen))
        np.testing.assert_allclose(
            later.similarities(rows), fitted.similarities(rows), rtol=1e-9, atol=1e-12
        )
        assert model.unseen_classes_.size == 0, "reveal must not change the model it is called on"

    def test_reveal_of_one_class_or_a_mapping(self, data: Any, fitted: Any, rows: Any) -> None:
        new = fitted.reveal({"new one": data.classes.vectors.mean(axis=0)})
        assert "new one" in new.classes_
        assert "new one" not in fitted.classes_
        assert new.similarities(rows).shape[1] == data.unseen.size + 1

    def test_embeddings_have_one_row_each(self, fitted: Any, rows: Any) -> None:
        assert fitted.transform(rows).shape[0] == rows.shape[0]
        assert fitted.transform_classes().shape[0] == fitted.classes_.size

    # -- invariance -----------------------------------------------------------------------------

    def test_order_of_training_rows_does_not_matter(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        X, y = data.training_set()
        order = np.random.default_rng(0).permutation(y.size)
        other = self.make().fit(X[order], y[order], classes=data.classes)
        assert _agree(other.similarities(rows), fitted.similarities(rows), self.agreement)

    def test_order_of_the_class_table_does_not_matter(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        names = np.random.default_rng(1).permutation(data.classes.names)
        other = self.make().fit(*data.training_set(), classes=data.classes.select(names))
        assert _agree(other.similarities(rows), fitted.similarities(rows), self.agreement)

    def test_names_are_only_names(self, data: Any, fitted: Any, rows: Any) -> None:
        numbers = {name: k for k, name in enumerate(sorted(data.classes.names.tolist()))}
        X, y = data.training_set()
        table = ClassTable([numbers[n] for n in data.classes.names.tolist()], data.classes.vectors)
        other = self.make().fit(X, np.array([numbers[n] for n in y.tolist()]), classes=table)
        expected = [numbers[n] for n in fitted.predict(rows).tolist()]
        np.testing.assert_array_equal(other.predict(rows), expected)

    def test_permuting_rows_permutes_results(self, fitted: Any, rows: Any) -> None:
        order = np.random.default_rng(2).permutation(rows.shape[0])
        np.testing.assert_allclose(
            fitted.similarities(rows[order]),
            fitted.similarities(rows)[order],
            rtol=1e-9,
            atol=1e-12,
        )

    def test_one_row_equals_a_batch(self, fitted: Any, rows: Any) -> None:
        single = np.vstack([fitted.similarities(rows[k : k + 1]) for k in range(5)])
        np.testing.assert_allclose(single, fitted.similarities(rows[:5]), rtol=1e-9, atol=1e-12)

    def test_same_input_same_model(self, data: Any, fitted: Any, rows: Any) -> None:
        again = self.make().fit(*data.training_set(), classes=data.classes)
        np.testing.assert_array_equal(again.similarities(rows), fitted.similarities(rows))

    # -- kinds of input -------------------------------------------------------------------------

    def test_float32_agrees_with_float64_and_stays_float32(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        X, y = data.training_set()
        single = self.make().fit(X.astype(np.float32), y, classes=data.classes)
        scores = single.similarities(rows.astype(np.float32))
        assert scores.dtype == np.float32
        assert _agree(scores, fitted.similarities(rows), max(2e-2, self.agreement))

    @pytest.mark.parametrize("kind", ["fortran", "strided", "read-only", "half", "int", "frame"])
    def test_layouts_of_the_same_numbers(self, kind: str, data: Any, whole_scores: Any) -> None:
        X, y = data.training_set()
        other = _laid_out(np.round(8 * X), kind)
        scores = self.make().fit(other, y, classes=data.classes).similarities(other[:7])
        assert _agree(scores, whole_scores, max(2e-2, self.agreement))

    def test_memory_mapped_rows(self, data: Any, fitted: Any, rows: Any, tmp_path: Any) -> None:
        X, y = data.training_set()
        np.save(tmp_path / "X.npy", X)
        model = self.make().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y, classes=data.classes)
        assert _agree(model.similarities(rows), fitted.similarities(rows), 1e-9)

    def test_mapping_and_frame_serve_as_class_table(
        self, data: Any, fitted: Any, rows: Any
    ) -> None:
        mapping = dict(zip(data.classes.names.tolist(), data.classes.vectors, strict=True))
        for form in (mapping, data.classes.to_frame()):
            other = self.make().fit(*data.training_set(), classes=form)
            assert _agree(other.similarities(rows), fitted.similarities(rows), 1e-9)

    def test_input_is_left_alone(self, data: Any, rows: Any) -> None:
        X, y = data.training_set()
        before = X.copy(), y.copy(), data.classes.vectors.copy(), rows.copy()
        self.make().fit(X, y, classes=data.classes).predict(rows)
        for now, then in zip((X, y, data.classes.vectors, rows), before, strict=True):
            np.testing.assert_array_equal(now, then)

    # -- keeping --------------------------------------------------------------------------------

    def test_saved_and_loaded_it_is_the_same_model(
        self, fitted: Any, rows: Any, tmp_path: Any
    ) -> None:
        fitted.save(tmp_path / "model.unseen")
        loaded = unseen.load(tmp_path / "model.unseen")
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        for candidates in (None, "all"):
            np.testing.assert_array_equal(
                loaded.similarities(rows, candidates), fitted.similarities(rows, candidates)
            )

    def test_a_model_file_holds_nothing_of_the_size_of_the_rows(
        self, data: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pulls, "MOST_NUMBERS", 1)
        monkeypatch.setattr(pulls, "LEAST_ROWS", 50)
        X, y = data.training_set()
        X, y = X[:-3], y[:-3]
        self.make().fit(X, y, classes=data.classes).save(tmp_path / "model")
        arrays = tensors.read(tmp_path / "model", models.KIND)[1]
        assert not [name for name, array in arrays.items() if y.size in array.shape]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")
    def test_a_forked_child_predicts_too(
        self, data: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(work, "_SMALL", 0)
        rows = np.tile(rows, (4, 1))
        with work.limited_to(2), warnings.catch_warnings(action="ignore"):
            model = self.make().fit(*data.training_set(), classes=data.classes)
            expected = model.similarities(rows)
            child = os.fork()
            if not child:
                same = False
                try:
                    same = np.array_equal(model.similarities(rows), expected)
                finally:
                    os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0

    # -- refusals -------------------------------------------------------------------------------

    def test_refuses_to_predict_before_fit(self, rows: Any) -> None:
        for use in ("predict", "similarities", "transform", "top_k"):
            with pytest.raises(NotFittedError):
                getattr(self.make(), use)(rows)

    def test_refuses_nan_and_infinity(self, data: Any, fitted: Any, rows: Any) -> None:
        X, y = data.training_set()
        for bad in (np.nan, np.inf):
            broken = X.copy()
            broken[3, 2] = bad
            told = "X is NaN or infinite in row 3, column 2"
            with pytest.raises(InputError, match=told):
                self.make().fit(broken, y, classes=data.classes)
            with pytest.raises(InputError, match=told):
                fitted.predict(broken)

    def test_refuses_another_width(self, fitted: Any, rows: Any) -> None:
        with pytest.raises(ValueError, match="15 features"):
            fitted.predict(rows[:, 1:])

    def test_refuses_a_single_class(self, data: Any) -> None:
        X, y = data.training_set()
        one = y == y[0]
        with pytest.raises(InputError, match="only one class"):
            self.make().fit(X[one], y[one], classes=data.classes)

    def test_refuses_a_label_without_a_line_and_names_the_nearest(self, data: Any) -> None:
        X, y = data.training_set()
        y = np.where(y == "class 03", "clas 03", y)
        with pytest.raises(InputError, match=r"'clas 03' has 15 rows.*nearest name: 'class 03'"):
            self.make().fit(X, y, classes=data.classes)

    def test_refuses_labels_of_another_kind_than_the_names(self, data: Any) -> None:
        X, y = data.training_set()
        with pytest.raises(InputError, match="different kinds"):
            self.make().fit(X, np.unique(y, return_inverse=True)[1], classes=data.classes)

    def test_refuses_a_table_that_tells_nothing(self, data: Any) -> None:
        X, y = data.training_set()
        constant = ClassTable(data.classes.names, np.ones((data.classes.n_classes, 3)))
        with pytest.raises(InputError, match="same vector"):
            self.make().fit(X, y, classes=constant)

    def test_refuses_rows_and_labels_of_different_number(self, data: Any) -> None:
        X, y = data.training_set()
        with pytest.raises(ValueError, match=f"{y.size} rows .* {y.size - 1} labels"):
            self.make().fit(X, y[1:], classes=data.classes)

    @pytest.mark.parametrize(
        ("candidates", "message"),
        [
            (["class 99"], "no class 'class 99' is known.*; it knows 'class 00'"),
            ("everything", "not understood"),
            ([], "empty"),
            (["class 01", "class 01"], "twice"),
            ({"x": [1.0, 2.0]}, "2 columns"),
            (7, "ClassTable"),
        ],
    )
    def test_refuses_unusable_candidates(
        self, fitted: Any, rows: Any, candidates: Any, message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            fitted.predict(rows, candidates=candidates)

    @pytest.mark.parametrize("k", [0, -1, 99, 1.5, True])
    def test_refuses_a_senseless_k(self, fitted: Any, rows: Any, k: Any) -> None:
        with pytest.raises(InputError, match="k"):
            fitted.top_k(rows, k)

    def test_refuses_to_reveal_a_known_class_with_another_description(
        self, data: Any, fitted: Any
    ) -> None:
        name = data.classes.names[0].item()
        with pytest.raises(InputError, match="known already"):
            fitted.reveal({name: data.classes.vector(name) + 1})


def _agree(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-6) -> bool:
    """Equal to a share of the spread of the scores."""
    return bool(np.abs(a - b).max() <= tolerance * np.ptp(b))


def _laid_out(X: np.ndarray, kind: str) -> Any:
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if kind == "frame":
        import pandas

        return pandas.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    return X.astype({"half": np.float16, "int": np.int64}[kind])
