"""The deep embedding against its objective written out; prediction without torch."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

import unseen
from unseen import InputError, make_zero_shot
from unseen.errors import MissingExtraError
from unseen.estimators.deep import DeepEmbedding, network, objective
from unseen.model.joint import Bilinear, Joint, PointMass
from unseen.rows.scaling import RowScaling
from unseen.training.minibatch import own_order
from unseen.training.networks import first_layers

torch: Any = importlib.import_module("torch") if find_spec("torch") else None

needs_torch = pytest.mark.skipif(torch is None, reason="no torch: pip install 'unseen[deep]'")


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(n_seen=40, dtype=np.float32)


@pytest.fixture(scope="module")
def fitted(data: Any) -> Any:
    pytest.importorskip("torch", reason="no torch: pip install 'unseen[deep]'")
    return DeepEmbedding().fit(*data.training_set(), classes=data.classes)


def written_out(layers: list[np.ndarray], X: np.ndarray, S: np.ndarray, y: np.ndarray) -> float:
    """The objective with λ = 0.1, as the docstring prints it."""
    A1, a, A2, B1, b, B2 = layers
    total = 0.0
    for x, own in zip(X, y, strict=True):
        f = np.maximum(0, x @ A1 + a) @ A2
        scores = [f @ (np.maximum(0, s @ B1 + b) @ B2) for s in S]
        total -= log_softmax(scores)[own] / len(X)
    return total + 0.1 / 2 * sum(np.sum(m**2) for m in (A1, A2, B1, B2))


def test_a_network_worked_by_hand() -> None:
    """x = (1, 2): hidden (1 - 2 + 0, 1 + 2 - 1) = (-1, 2), cut to (0, 2), times (5, 3) is 6."""
    layers = [np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.0, -1.0]), np.array([[5.0], [3.0]])]
    assert network(np.array([[1.0, 2.0]]), layers).tolist() == [[6.0]]


@needs_torch
def test_objective_and_gradient_equal_the_formula() -> None:
    assert torch is not None
    rng = np.random.default_rng(0)
    X, S, y = rng.standard_normal((6, 4)), rng.standard_normal((3, 5)), np.array([0, 1, 2, 0, 1, 2])
    arrays = [*first_layers(4, 3, 2, rng), *first_layers(5, 3, 2, rng)]
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    rows, table, labels = (torch.from_numpy(a) for a in (X, S, y))
    loss = objective(torch, tensors, rows, table, labels, 0.1)
    assert float(loss.detach()) == pytest.approx(written_out(arrays, X, S, y))
    loss.backward()
    for k, tensor in enumerate(tensors):
        assert tensor.grad is not None

        def value(flat: np.ndarray, k: int = k) -> float:
            moved = [flat.reshape(a.shape) if n == k else a for n, a in enumerate(arrays)]
            return written_out(moved, X, S, y)

        slope: Any = approx_fprime(arrays[k].ravel(), value, 1e-7)
        np.testing.assert_allclose(tensor.grad.numpy().ravel(), slope, atol=1e-5)


def test_first_layers_keep_the_size_of_a_vector() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 40)) / np.sqrt(40)
    z = network(x, first_layers(40, 600, 300, rng))
    assert np.mean(np.sum(z**2, axis=1)) == pytest.approx(1, rel=0.15)


def test_the_order_of_rows_is_their_own() -> None:
    rng = np.random.default_rng(2)
    X, labels = rng.standard_normal((30, 5)), np.arange(30) % 3
    turned = rng.permutation(30)
    scaling = RowScaling(False, None)
    one, other = own_order(X, scaling, labels), own_order(X[turned], scaling, labels[turned])
    np.testing.assert_array_equal(X[one], X[turned][other])


def test_recognises_unseen_classes(data: Any, fitted: Any) -> None:
    assert fitted.score(*data.unseen_set()) > 0.6
    assert fitted.similarities(data.unseen_set()[0]).dtype == np.float32
    assert fitted.history_[-1] < 0.5 * fitted.history_[0]


def test_is_a_member_of_the_general_model(data: Any, fitted: Any) -> None:
    """Point masses at the outputs of the networks, and the identity between them."""
    joint = Joint(
        PointMass(lambda s: network(fitted.class_scaling_(s), fitted.class_layers_)),
        PointMass(lambda x: network(fitted.scaling_(x), fitted.row_layers_)),
        Bilinear(np.eye(fitted.n_codes)),
    )
    X = data.unseen_set()[0].astype(np.float64)
    S = fitted.class_table_.select(fitted.classes_).vectors
    np.testing.assert_allclose(joint.scores(S, X), fitted.similarities(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(
        fitted.classes_[joint.scores(S, X).argmax(axis=1)], fitted.predict(X)
    )


def test_the_seed_decides(data: Any, fitted: Any) -> None:
    again = DeepEmbedding().fit(*data.training_set(), classes=data.classes)
    other = DeepEmbedding(random_state=1).fit(*data.training_set(), classes=data.classes)
    np.testing.assert_array_equal(again.row_layers_[0], fitted.row_layers_[0])
    assert not np.allclose(other.row_layers_[0], fitted.row_layers_[0])


def test_a_saved_model_predicts_without_torch(data: Any, fitted: Any, tmp_path: Any) -> None:
    fitted.save(tmp_path / "deep.unseen")
    np.save(tmp_path / "X.npy", data.unseen_set()[0])
    code = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, *_):\n"
        "        assert name.partition('.')[0] != 'torch'\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import numpy, unseen\n"
        f"model = unseen.load({str(tmp_path / 'deep.unseen')!r})\n"
        f"print(*model.predict(numpy.load({str(tmp_path / 'X.npy')!r}))[:3], sep='|')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().split("|") == fitted.predict(data.unseen_set()[0])[:3].tolist()
    assert isinstance(unseen.load(tmp_path / "deep.unseen"), DeepEmbedding)


def test_without_torch_it_names_the_extra(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch.*unseen\[deep\]"):
        DeepEmbedding().fit(*data.training_set(), classes=data.classes)


@pytest.mark.parametrize("bad", [-1, float("nan"), "abc", None, True])
@pytest.mark.parametrize(
    "name", ["n_hidden", "n_codes", "penalty", "max_iter", "learning_rate", "batch_size"]
)
def test_refuses_senseless_parameters(name: str, bad: object, data: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        DeepEmbedding().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
