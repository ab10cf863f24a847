"""The variants (i) to (viii) of the paper's recognition table, and Algorithm 3 beside them."""

from __future__ import annotations

from itertools import product
from typing import Any

from unseen.estimators import JLSE

NUMERALS = ("(i)", "(ii)", "(iii)", "(iv)", "(v)", "(vi)", "(vii)", "(viii)")
PAIRWISE = ("Alg. 3 (1)", "Alg. 3 (2)")
LABELS = (*NUMERALS, *PAIRWISE)


def variants() -> dict[str, dict[str, Any]]:
    """Parameters of JLSE for each variant.

    Codes of training from the start or by Algorithm 2; codes of test time from the start or by
    Algorithm 4; decision 1 or 2: the last of the three changes fastest.
    """
    rounds, embeddings = (0, JLSE().max_iter), ("init", "algorithm 4")
    choices = product(rounds, embeddings, (1, 2))
    return {
        numeral: {"max_iter": n_rounds, "test_embedding": embedding, "decision": decision}
        for numeral, (n_rounds, embedding, decision) in zip(NUMERALS, choices, strict=True)
    }


def table_rows() -> dict[str, dict[str, Any]]:
    """The variants and, after Algorithm 2, a code a pair by Algorithm 3, which the paper describes
    and does not measure. Its decision 2 is Eq. (gen_dec); 1 leaves out log p_B of the best codes
    of a class alone."""
    rounds = JLSE().max_iter
    pairwise = {
        label: {"max_iter": rounds, "inference": "pairwise", "decision": decision}
        for decision, label in enumerate(PAIRWISE, start=1)
    }
    return {**variants(), **pairwise}


def described(label: str) -> str:
    """A variant in words, as the paper's table has it."""
    chosen = table_rows()[label]
    if label in PAIRWISE:
        return f"Alg. 2 + Alg. 3 + decision {chosen['decision']}"
    training = "Alg. 2" if chosen["max_iter"] else "init."
    testing = "Alg. 4" if chosen["test_embedding"] == "algorithm 4" else "init."
    return f"{label} {training} + {testing} + decision {chosen['decision']}"
