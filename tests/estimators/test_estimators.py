"""Every estimator of the registry against the shared contract."""

from __future__ import annotations

from importlib.util import find_spec

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
    agreement = 0.05


class TestKernelJLSE(Contract):
    method = "kernel-jlse"
    agreement = 0.05


class TestConSE(Contract):
    method = "conse"


class TestCOSTA(Contract):
    method = "costa"


class TestDAP(Contract):
    method = "dap"


class TestIAP(Contract):
    method = "iap"


class TestSAE(Contract):
    method = "sae"


class TestSSEIntersection(Contract):
    method = "sse-int"
    agreement = 1e-3


class TestSSEReLU(Contract):
    method = "sse-relu"
    agreement = 1e-3


class TestALE(Contract):
    method = "ale"


class TestDeViSE(Contract):
    method = "devise"


class TestLatEm(Contract):
    method = "latem"


class TestSJE(Contract):
    method = "sje"


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch: pip install 'unseen[deep]'")
class TestDeepEmbedding(Contract):
    method = "deep"
    agreement = 0.05


def test_methods_without_their_extra_are_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(available()) <= set(METHODS)
    monkeypatch.setattr("unseen.estimators.find_spec", lambda name: None)
    assert set(METHODS) - set(available()) == {"deep"}
