"""Every estimator of the registry against the shared contract."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

import pytest

from tests.common.contract import Contract
from unseen.estimators import METHODS, available


class TestESZSL(Contract):
    method = "eszsl"


def test_every_registered_method_is_held_to_the_contract() -> None:
    held = {case.method for case in Contract.__subclasses__()}
    assert held == set(METHODS)


class TestJLSE(Contract):
    method = "jlse"
    quick: ClassVar = {"n_target_atoms": 12}
    agreement = 0.05


class TestKernelJLSE(Contract):
    method = "kernel-jlse"
    quick: ClassVar = {"n_target_atoms": 12}
    agreement = 0.05


class TestGaussianMatch(Contract):
    method = "gaussian-match"


class TestEnsemble(Contract):
    method = "ensemble"
    quick: ClassVar = {"members": ["gaussian-match", "eszsl", "sae"]}


class TestConSE(Contract):
    method = "conse"
    quick: ClassVar = {"penalty": 1e-3}


class TestCOSTA(Contract):
    method = "costa"
    quick: ClassVar = {"penalty": 1e-3}


class TestDAP(Contract):
    method = "dap"
    quick: ClassVar = {"penalty": 1e-3}


class TestIAP(Contract):
    method = "iap"
    quick: ClassVar = {"penalty": 1e-3}


class TestSAE(Contract):
    method = "sae"


class TestSSEIntersection(Contract):
    method = "sse-int"
    quick: ClassVar = {"n_rounds": 1}
    agreement = 1e-3


class TestSSEReLU(Contract):
    method = "sse-relu"
    quick: ClassVar = {"n_rounds": 1}
    agreement = 1e-3


class TestALE(Contract):
    method = "ale"
    quick: ClassVar = {"max_iter": 6}


class TestDeViSE(Contract):
    method = "devise"
    quick: ClassVar = {"max_iter": 6}


class TestLatEm(Contract):
    method = "latem"
    quick: ClassVar = {"max_iter": 6}


class TestSJE(Contract):
    method = "sje"
    quick: ClassVar = {"max_iter": 6}


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch: pip install 'unseen[deep]'")
class TestDeepEmbedding(Contract):
    method = "deep"
    agreement = 0.05


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch: pip install 'unseen[deep]'")
class TestFeatureVAE(Contract):
    method = "feature-vae"
    quick: ClassVar = {"max_iter": 6, "n_hidden": 32}
    agreement = 0.05


def test_methods_without_their_extra_are_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(available()) <= set(METHODS)
    monkeypatch.setattr("unseen.estimators.find_spec", lambda name: None)
    assert set(METHODS) - set(available()) == {"deep", "feature-vae"}


class TestSynC(Contract):
    method = "sync"


class TestEXEM(Contract):
    method = "exem"
    agreement = 1e-3  # where no class is free to move, the bias of a regression is not unique


class TestGFZSL(Contract):
    method = "gfzsl"
