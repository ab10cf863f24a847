"""Which drug acts on which protein? Any labelled pairs, and proteins or drugs never met before.

Drugs are the sources, proteins the targets. A protein may answer to many drugs, most pairs were
never measured, and what is wanted are pairs of a new protein, of a new drug, or of both. The data
are made up, so that the best possible score is known: the ceiling.

    python examples/cold_targets.py        (draws cold_targets.png; needs the extra "report")
"""

import numpy as np
from sklearn.base import BaseEstimator

from unseen import JLSE
from unseen.apps.plots import pair_figure
from unseen.datasets import make_pairs
from unseen.evaluation import cold_start

drugs, proteins = 50, 250
data = make_pairs(drugs, proteins, known=0.5, positives=0.15)
measured = data.Y != 0
print(f"{measured.sum()} of {data.Y.size} pairs measured, {(data.Y > 0).sum()} of them act")


class Ceiling(BaseEstimator):
    """The score that nothing can beat: the probability with which the labels were drawn."""

    def fit_pairs(self, S: np.ndarray, X: np.ndarray, Y: np.ndarray) -> "Ceiling":
        return self

    def score_pairs(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        return data.probabilities(S, X)


model = JLSE(n_target_atoms=60)
found, best = {}, {}
for new, name in (("targets", "new proteins"), ("sources", "new drugs"), ("both", "both new")):
    result = cold_start(model, data.S, data.X, data.Y, new=new, n_splits=3)
    ceiling = cold_start(Ceiling(), data.S, data.X, data.Y, new=new, n_splits=3)
    found[name], best[name] = result.pooled, ceiling.pooled
    print(
        f"{name:12}  ROC AUC {result.roc_auc:.3f} (ceiling {ceiling.roc_auc:.3f}), "
        f"average precision {result.average_precision:.3f} (ceiling "
        f"{ceiling.average_precision:.3f}, chance {result.chance:.3f})"
    )

# Decisions: θ and probabilities are learned from proteins that copies of the model never met.
known, new = slice(0, 200), slice(200, 250)
model.fit_pairs(data.S, data.X[known], data.Y[known])
model.calibrate(data.S, data.X[known], data.Y[known], cold="targets")
acts = model.predict_pairs(data.S, data.X[new]) > 0
chances = model.pair_probabilities(data.S, data.X[new])
truth, known_pairs = data.Y[new] > 0, data.Y[new] != 0
right = (acts & truth).sum() / (acts & known_pairs).sum()
print(
    f"50 new proteins: {(acts & known_pairs).sum()} measured pairs called active, {right:.0%} "
    f"rightly; {chances[known_pairs].sum():.0f} expected active, {truth.sum()} are"
)

pair_figure(found, best).savefig("cold_targets.png", dpi=110)
