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


def table_rows() -> dict[str, dict[str, Any]]:
    """Parameters of JLSE for each variant, in plain words, and for Algorithm 3 after Algorithm 2.

    Codes of training from the start or by Algorithm 2; codes of test time from the start or by
    Algorithm 4; decision 1 or 2: the last of the three changes fastest. Algorithm 3, one code per
    pair, the paper describes and does not measure; its decision 2 is Eq. (gen_dec), and 1 leaves
    out log p_B of the best codes of a class alone.
    """
    rounds = JLSE().get_params()["training__max_iter"]
    choices = [
        *product((0, rounds), ("DataFit", "Algorithm4"), (1, 2)),
        *product((rounds,), ("Algorithm3",), (1, 2)),
    ]
    names = ("training__max_iter", "testing", "decision")
    return {
        label: dict(zip(names, choice, strict=True))
        for label, choice in zip(LABELS, choices, strict=True)
    }


def described(label: str) -> str:
    """A variant in words, as the paper's table has it."""
    chosen = table_rows()[label]
    if label in PAIRWISE:
        return f"Alg. 2 + Alg. 3 + decision {chosen['decision']}"
    training = "Alg. 2" if chosen["training__max_iter"] else "init."
    testing = "Alg. 4" if chosen["testing"] == "Algorithm4" else "init."
    return f"{label} {training} + {testing} + decision {chosen['decision']}"
