"""ALE: label embedding with a loss that looks at the top of the ranking.

Akata, Perronnin, Harchaoui and Schmid, "Label-embedding for image classification", TPAMI 2016.
"""

from __future__ import annotations

from unseen.estimators.bilinear import BilinearRanking
from unseen.model.ranking import Ranking, weighted_ranking


class ALE(BilinearRanking):
    """Attribute label embedding: a bilinear score, trained so that few classes come before the own.

        min_V 1/N Σ_n l_r/r Σ_{c≠y_n} [1 + x_n' V s_c - x_n' V s_{y_n}]_+ + λ/2 |V|²
        score(x, s) = x' V s

    with rows x_n of class y_n, descriptions s_c of the C seen classes, r the number of classes with
    a positive bracket for row n, and l_r = 1 + 1/2 + ... + 1/r. Being fifth rather than fourth thus
    costs less than being second rather than first. Parameters and attributes are those of
    `BilinearRanking`.
    """

    def _loss(self) -> Ranking:
        return weighted_ranking
