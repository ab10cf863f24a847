"""Trained methods as members of the general model: F is their score, up to a stated constant.

Each test writes the embeddings of a method down anew, from its fitted attributes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.common.small import fit_jlse
from tests.oracles.general import Dictionary, Hinge, maximise
from unseen import ClassTable, ZeroShotDataset, make_zero_shot
from unseen.estimators.ale import ALE
from unseen.estimators.latem import LatEm
from unseen.estimators.sje import SJE
from unseen.estimators.sse import SSE, SSEIntersection, SSEReLU
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.model.joint import Bilinear, Joint, PointMass, PointMasses, in_blocks
from unseen.model.latent import LatentModel
from unseen.solvers.block import Ridge
from unseen.solvers.simplex import fit_source_codes


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return make_zero_shot(n_seen=15, n_unseen=4, n_features=12, rows_per_class=20, dtype=np.float64)


def check(joint: Joint, model: Any, data: ZeroShotDataset, constant: float = 0.0) -> None:
    """F equals the model's score plus the constant, and chooses the same classes."""
    X = data.unseen_set()[0]
    table = model.class_table_.select(model.classes_)
    own = model.similarities(X)
    F = joint.scores(table.vectors, X)
    np.testing.assert_allclose(F, own + constant, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.classes_[F.argmax(axis=1)], model.predict(X))
    assert np.ptp(own) > 0.1, "scores that are all the same would prove nothing"


def test_label_embedding(data: ZeroShotDataset) -> None:
    model = ALE().fit(*data.training_set(), classes=data.classes)
    joint = Joint(
        PointMass(model.class_scaling_), PointMass(model.scaling_), Bilinear(model.weights_.T)
    )
    check(joint, model, data)


def test_output_embedding(data: ZeroShotDataset) -> None:
    """z_s holds the K descriptions; log p_B of it is -log K, which is the constant."""
    names, vectors = data.classes.names, data.classes.vectors
    parts = {
        "first": ClassTable(names, vectors[:, :18]),
        "second": ClassTable(names, vectors[:, 18:]),
    }
    table = ClassTable.beside(parts)
    weights = {"first": 0.7, "second": 0.3}
    model = SJE(table_weights=weights).fit(*data.training_set(), classes=table)
    first, second = model.class_scalings_
    both = PointMass(
        lambda s: np.hstack([first(s[:, :18]), second(s[:, 18:])]), log_weight=-np.log(2)
    )
    alpha = np.repeat(list(weights.values()), [18, vectors.shape[1] - 18])
    similarity = Bilinear(alpha[:, None] * model.weights_.T)
    check(Joint(both, PointMass(model.scaling_), similarity), model, data, -np.log(2))


@pytest.mark.parametrize("kind", [SSEIntersection, SSEReLU])
def test_semantic_similarity_embedding(kind: type[SSE], data: ZeroShotDataset) -> None:
    """z_s is the code on the simplex, z_t = (φ_1(x), ..., φ_C(x)), log p_W = Σ_s z_s <w, φ_s>."""
    model = kind().fit(*data.training_set(), classes=data.classes)
    B, V = model.descriptions_, model.vectors_
    gamma = model.code_penalty * np.linalg.eigvalsh(B @ B.T)[-1]

    def simplex_code(s: np.ndarray) -> np.ndarray:
        SB = model.class_scaling_(s) @ B.T
        return fit_source_codes(SB, Ridge(B @ B.T, gamma, 1.0)).value

    def transform(x: np.ndarray) -> np.ndarray:
        x = model.scaling_(x)[:, None]
        phi = np.minimum(x, V) if kind is SSEIntersection else np.maximum(0, x - V)
        return phi.reshape(len(x), -1)

    similarity = Bilinear(np.kron(np.eye(len(V)), model.weights_))
    check(Joint(PointMass(simplex_code), PointMass(transform), similarity), model, data)


def test_deep_embedding(data: ZeroShotDataset) -> None:
    """Two networks give the codes, and W lies between them; any weights will do.

    tests/estimators/test_deep.py does the same with a trained model, where torch is installed.
    """
    rng = np.random.default_rng(0)
    first, second, W = (rng.standard_normal(s) for s in ((12, 9), (9, 5), (6, 5)))
    words = rng.standard_normal((30, 6))

    def network(x: np.ndarray) -> np.ndarray:
        return np.maximum(x @ first, 0) @ second

    def text(s: np.ndarray) -> np.ndarray:
        return np.tanh(s @ words)

    S, X = data.classes.vectors, data.unseen_set()[0]
    slow = [[np.tanh(s @ words) @ W @ (np.maximum(x @ first, 0) @ second) for s in S] for x in X]
    found = Joint(PointMass(text), PointMass(network), Bilinear(W)).scores(S, X)
    np.testing.assert_allclose(found, slow, atol=1e-6)


@pytest.mark.parametrize("n_maps", [1, 3])
def test_latent_embedding(n_maps: int, data: ZeroShotDataset) -> None:
    """W = diag(W_1, ..., W_K) and a selector Δ; each side's log p is -log K."""
    model = LatEm(n_maps=n_maps).fit(*data.training_set(), classes=data.classes)
    K = model.n_maps_
    W = np.asarray(scipy.linalg.block_diag(*[V.T for V in np.split(model.weights_, K, axis=1)]))
    joint = Joint(
        PointMasses(in_blocks(model.class_scaling_, K)),
        PointMasses(in_blocks(model.scaling_, K)),
        Bilinear(W, same_component=True),
    )
    check(joint, model, data, -2 * np.log(K))
    if K > 1:
        S, X = model.class_scaling_(data.classes.vectors), model.scaling_(data.X[::7])
        by_map = [X @ V @ S.T for V in np.split(model.weights_, K, axis=1)]
        assert len(np.unique(np.argmax(by_map, axis=0))) > 1, "one map wins every pair"


def dictionaries(latent: LatentModel) -> tuple[Dictionary, Dictionary, Hinge]:
    """The terms that JLSE is made of, in the space of scaled rows and descriptions, in units of
    the weight of log p_W."""
    weight = latent.positive_weight
    return (
        Dictionary(latent.B, latent.source_shrink / weight, latent.source_fit / weight, "simplex"),
        Dictionary(latent.D, latent.target_shrink / weight, latent.target_fit / weight),
        Hinge(latent.W),
    )


def test_joint_latent_similarity_embedding_with_fixed_codes(data: ZeroShotDataset) -> None:
    """With the codes of the data fit alone, and by the margin, F is decision 1."""
    model = fit_jlse(data, testing=DataFit(), decision=1)
    model.latent_ = latent = replace(model.latent_, link="margin")
    source, target, _ = dictionaries(latent)
    joint = Joint(
        PointMass(lambda s: source.best(latent.spaces.descriptions(s))),
        PointMass(lambda x: target.best(latent.spaces.rows(x))),
        Bilinear(latent.W),
    )
    check(joint, model, data)


def test_joint_latent_similarity_embedding_with_codes_a_pair(data: ZeroShotDataset) -> None:
    """Codes chosen for each pair lift F above decision 2 with fixed codes; Algorithm 3 finds it."""
    model = fit_jlse(data, testing=DataFit(), decision=2)
    source, target, similarity = dictionaries(model.latent_)
    X, y = data.unseen_set()
    S = model.latent_.describe(data.classes.select(model.classes_).vectors)
    rows = model.latent_.spaces.features(X)
    found = maximise(source, target, similarity, S, rows, tol=1e-8)
    own = target.log_p(rows, target.best(rows))[:, None]
    # The tie-breaker is no part of F.
    fixed = (
        np.minimum(model.similarities(X), -model.latent_.source_cost(S, model.transform_classes()))
        + own
    )
    assert (found.value >= fixed - 1e-9).all()
    assert found.value.mean() > fixed.mean() + 1e-3
    assert np.mean(model.classes_[found.value.argmax(axis=1)] == y) > 0.5
    same = Algorithm3(model.latent_.source_fit, model.latent_.target_fit)
    by_pair = model.set_params(testing=same).similarities(X) + own
    # Plain alternation ends at the knee of the hinge, where two codes together can go on.
    assert (by_pair >= found.value - 1e-6).all()
