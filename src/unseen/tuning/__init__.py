"""Choosing parameters by classes held out of training."""

from unseen.tuning.result import Effect, Trial, Tuning
from unseen.tuning.run import PROTOCOLS, SCORINGS, tune
from unseen.tuning.search import STRATEGIES

__all__ = ["PROTOCOLS", "SCORINGS", "STRATEGIES", "Effect", "Trial", "Tuning", "tune"]
