"""DeViSE: rows are sent to where the vector of their class lies, by a sum of hinges.

Frome, Corrado, Shlens, Bengio, Dean, Ranzato and Mikolov, "DeViSE: A deep visual-semantic embedding
model", NIPS 2013; here on given rows, without the network below them.
"""

from __future__ import annotations

from functools import partial

from unseen.estimators.bilinear import BilinearRanking
from unseen.model.ranking import Ranking, sum_of_hinges
from unseen.support.parameters import POSITIVE, has_parameters, parameter


@has_parameters
class DeViSE(BilinearRanking):
    """Deep visual-semantic embedding: a bilinear score, every class that comes too near counts.

        min_V 1/N Σ_n Σ_{c≠y_n} [m - x_n' V s_{y_n} + x_n' V s_c]_+ + λ/2 |V|²
        score(x, s) = x' V s

    with rows x_n of class y_n, descriptions s_c of the seen classes, of unit length, and margin m.

    Parameters
    ----------
    margin : m. Ten times the margin with a tenth of the penalty makes V ten times as long, and
        nothing else changes.

    All others, and the attributes, are those of `BilinearRanking`.
    """

    penalty: float = parameter(1e-2, tries=[1e-3, 3e-3, 1e-2, 3e-2, 1e-1])
    margin: float = parameter(0.1, POSITIVE)

    def _loss(self) -> Ranking:
        return partial(sum_of_hinges, margin=self.margin)
