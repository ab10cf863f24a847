"""Choosing parameters by classes held out of training."""

from unseen.tuning.choice import Choice, choose
from unseen.tuning.effects import Effect, Range
from unseen.tuning.result import Tuning
from unseen.tuning.run import PROTOCOLS, SCORINGS, tune
from unseen.tuning.search import STRATEGIES
from unseen.tuning.trial import Trial

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
