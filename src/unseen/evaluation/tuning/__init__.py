"""Choosing parameters by classes held out of training."""

from unseen.evaluation.tuning.choice import Choice, choose
from unseen.evaluation.tuning.effects import Effect, Range
from unseen.evaluation.tuning.result import Tuning
from unseen.evaluation.tuning.run import PROTOCOLS, SCORINGS, tune
from unseen.evaluation.tuning.search import STRATEGIES
from unseen.evaluation.tuning.trial import Trial

__all__ = [
    "PROTOCOLS",
    "SCORINGS",
    "STRATEGIES",
    "Choice",
    "Effect",
    "Range",
    "Trial",
    "Tuning",
    "choose",
    "tune",
]
