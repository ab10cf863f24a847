"""From scores of pairs to decisions and probabilities: θ of Eq. 1, and a rising curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from unseen.errors import InputError
from unseen.support.parameters import check_number, is_float_array

METHODS = ("sigmoid", "isotonic")
GOALS = {
    "f1": lambda tp, fp, p, n: 2 * tp / (tp + fp + p),
    "balanced": lambda tp, fp, p, n: (tp / p + 1 - fp / n) / 2,
    "accuracy": lambda tp, fp, p, n: (tp + n - fp) / (p + n),
}


def best_threshold(
    matches: np.ndarray, scores: np.ndarray, weights: np.ndarray, goal: str
) -> float:
    """θ that maximises the goal when pairs with F ≥ θ are called matches.

    It lies half-way between two scores, or just below the lowest. Of equals the highest is taken.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, weight = scores[order].astype(np.float64), weights[order].astype(np.float64)
    last_of_tie = np.append(np.flatnonzero(ranked[1:] < ranked[:-1]), len(ranked) - 1)
    tp = np.cumsum(weight * matches[order])[last_of_tie]
    fp = np.cumsum(weight * ~matches[order])[last_of_tie]
    best = int(last_of_tie[np.argmax(GOALS[goal](tp, fp, tp[-1], fp[-1]))])
    if best + 1 == len(ranked):
        return float(np.nextafter(ranked[-1], -np.inf))
    return float(0.5 * (ranked[best] + ranked[best + 1]))


def fit_curve(
    matches: np.ndarray, scores: np.ndarray, weights: np.ndarray, method: str
) -> dict[str, Any]:
    """p(match | score): σ(a s + c), fitted by maximum likelihood (Platt), or isotonic."""
    scores, weights = scores.astype(np.float64), weights.astype(np.float64)
    if method == "sigmoid":
        spread = float(scores.std()) or 1.0
        fitted = LogisticRegression(C=np.inf).fit(scores[:, None] / spread, matches, weights)
        return {
            "slope": float(fitted.coef_[0, 0]) / spread,
            "intercept": float(fitted.intercept_[0]),
        }
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    fitted.fit(scores, matches.astype(np.float64), weights)
    return {"scores": fitted.X_thresholds_, "probabilities": fitted.y_thresholds_}


def on_curve(curve: dict[str, Any], scores: np.ndarray) -> np.ndarray:
    """The probabilities that belong to scores, in their shape and precision."""
    if "slope" in curve:
        return expit(
            scores * scores.dtype.type(curve["slope"]) + scores.dtype.type(curve["intercept"])
        )
    return np.interp(scores, curve["scores"], curve["probabilities"]).astype(scores.dtype)


def check_curve(curve: Any) -> None:
    """An error unless it is what `fit_curve` gives."""
    if not isinstance(curve, dict):
        raise InputError("its curve of probabilities makes no sense")
    if set(curve) == {"slope", "intercept"}:
        for name, value in curve.items():
            check_number(value, f"the {name} of its probabilities")
        return
    values: list[Any] = [curve.get(name) for name in ("scores", "probabilities")]
    if not all(is_float_array(v, 1) for v in values) or not values[0].size == values[1].size > 0:
        raise InputError("its curve of probabilities makes no sense")
