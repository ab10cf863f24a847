"""The eight variants (i) to (viii) of the paper's recognition table."""

from __future__ import annotations

from itertools import product
from typing import Any

from unseen.estimators import JLSE

NUMERALS = ("(i)", "(ii)", "(iii)", "(iv)", "(v)", "(vi)", "(vii)", "(viii)")


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


def described(numeral: str) -> str:
    """A variant in words, as the paper's table has it."""
    chosen = variants()[numeral]
    training = "Alg. 2" if chosen["max_iter"] else "init."
    testing = "Alg. 4" if chosen["test_embedding"] == "algorithm 4" else "init."
    return f"{numeral} {training} + {testing} + decision {chosen['decision']}"
