"""The methods. A new one is a file in this folder and a line in `METHODS`."""

from __future__ import annotations

from importlib.util import find_spec

from unseen.errors import InputError, listed, nearest
from unseen.estimators.ale import ALE
from unseen.estimators.base import ZeroShotClassifier
from unseen.estimators.conse import ConSE
from unseen.estimators.costa import COSTA
from unseen.estimators.dap import DAP
from unseen.estimators.deep import DeepEmbedding
from unseen.estimators.devise import DeViSE
from unseen.estimators.eszsl import ESZSL
from unseen.estimators.iap import IAP
from unseen.estimators.jlse import JLSE
from unseen.estimators.kernel_jlse import KernelJLSE
from unseen.estimators.latem import LatEm
from unseen.estimators.sae import SAE
from unseen.estimators.sje import SJE
from unseen.estimators.sse import SSEIntersection, SSEReLU

METHODS: dict[str, type[ZeroShotClassifier]] = {
    "jlse": JLSE,
    "kernel-jlse": KernelJLSE,
    "eszsl": ESZSL,
    "conse": ConSE,
    "costa": COSTA,
    "dap": DAP,
    "iap": IAP,
    "sae": SAE,
    "sse-int": SSEIntersection,
    "sse-relu": SSEReLU,
    "ale": ALE,
    "devise": DeViSE,
    "latem": LatEm,
    "sje": SJE,
    "deep": DeepEmbedding,
}


def available() -> list[str]:
    """Names of the methods that can be fitted here: all but those whose extra is missing."""
    return [name for name, kind in METHODS.items() if not kind.needs or find_spec(kind.needs)]


def method(name: str) -> type[ZeroShotClassifier]:
    """The estimator of a method by the name it has on the command line and in model files."""
    try:
        return METHODS[name.casefold()]
    except KeyError:
        hint = nearest(name, METHODS)
        known = listed(METHODS, len(METHODS))
        raise InputError(f"unknown method {name!r}{hint}; there are {known}") from None


__all__ = [
    "ALE",
    "COSTA",
    "DAP",
    "ESZSL",
    "IAP",
    "JLSE",
    "METHODS",
    "SAE",
    "SJE",
    "ConSE",
    "DeViSE",
    "DeepEmbedding",
    "KernelJLSE",
    "LatEm",
    "SSEIntersection",
    "SSEReLU",
    "ZeroShotClassifier",
    "available",
    "method",
]
