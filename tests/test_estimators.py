"""Every estimator of the registry against the shared contract."""

from __future__ import annotations

from tests.common.contract import Contract
from unseen.estimators import METHODS


class TestESZSL(Contract):
    method = "eszsl"


def test_every_registered_method_is_held_to_the_contract() -> None:
    held = {case.method for case in Contract.__subclasses__()}
    assert held == set(METHODS)


class TestJLSE(Contract):
    method = "jlse"
    agreement = 0.05
