"""The variants (i) to (viii) of the paper's recognition table, and Algorithm 3 beside them."""

from __future__ import annotations

from itertools import product
from typing import Any

from unseen.estimators import JLSE

NUMERALS = ("(i)", "(ii)", "(iii)", "(iv)", "(v)", "(vi)", "(vii)", "(viii)")
PAIRWISE = ("Alg. 3 (1)", "Alg. 3 (2)")
LABELS = (*NUMERALS, *PAIRWISE)
# Names of several rows at once. Algorithm 3 takes far longer than all variants together.
GROUPS = {"variants": NUMERALS, "algorithm-3": PAIRWISE}


def variants() -> dict[str, dict[str, Any]]:
    """Parameters of JLSE for each variant, in plain words.

    Codes of training from the start or by Algorithm 2; codes of test time from the start or by
    Algorithm 4; decision 1 or 2: the last of the three changes fastest.
    """
    choices = product((0, _rounds()), ("DataFit", "Algorithm4"), (1, 2))
    return {
        numeral: {"training__max_iter": rounds, "testing": testing, "decision": decision}
        for numeral, (rounds, testing, decision) in zip(NUMERALS, choices, strict=True)
    }


def table_rows() -> dict[str, dict[str, Any]]:
    """The variants and, after Algorithm 2, Algorithm 3, one code per pair, which the paper
    describes and does not measure. Its decision 2 is Eq. (gen_dec); 1 leaves out log p_B of the
    best codes of a class alone."""
    pairwise = {
        label: {"training__max_iter": _rounds(), "testing": "Algorithm3", "decision": decision}
        for decision, label in enumerate(PAIRWISE, start=1)
    }
    return {**variants(), **pairwise}


def _rounds() -> int:
    return JLSE().get_params()["training__max_iter"]


def described(label: str) -> str:
    """A variant in words, as the paper's table has it."""
    chosen = table_rows()[label]
    if label in PAIRWISE:
        return f"Alg. 2 + Alg. 3 + decision {chosen['decision']}"
    training = "Alg. 2" if chosen["training__max_iter"] else "init."
    testing = "Alg. 4" if chosen["testing"] == "Algorithm4" else "init."
    return f"{label} {training} + {testing} + decision {chosen['decision']}"
