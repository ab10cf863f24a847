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
    costs less than being second rather than first.

    Parameters
    ----------
    penalty : λ, in units in which rows and descriptions have a mean square length of one.
    max_iter : passes over the rows.
    tol : stop when a pass lowers the objective by less than this share; 0 makes all passes.
    batch_size : rows a step.
    early_stopping : choose the number of passes, up to `max_iter`, by accuracy on a fifth of the
        seen classes held out; costs a second training.
    row_scaler : how rows are scaled: to length one and then centred, or as the `RowScaler` says.
    class_scaler : how class descriptions are scaled: centred and then to length one, or as the
        `ClassScaler` says.
    random_state : seed of the order in which rows are visited.
    verbose : 1 prints the objective after each pass.

    Attributes after `fit`
    ----------------------
    weights_ : V, d_t x d_s.
    history_ : the objective before the first and after each pass.
    n_iter_ : passes over the rows that were made.
    """

    def _loss(self) -> Ranking:
        return weighted_ranking
