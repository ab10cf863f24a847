"""Choosing parameters by classes held out of training."""

from unseen.evaluation.tuning.results import Choice, Trial, Tuning, choose
from unseen.evaluation.tuning.run import PROTOCOLS, SCORINGS, tune
from unseen.evaluation.tuning.search import STRATEGIES

__all__ = [
    "PROTOCOLS",
    "SCORINGS",
    "STRATEGIES",
    "Choice",
    "Trial",
    "Tuning",
    "choose",
    "tune",
]
