"""Choosing parameters by classes held out of training."""

from unseen.evaluation.tuning.protocol import PROTOCOLS, SCORINGS, STRATEGIES, Protocol
from unseen.evaluation.tuning.results import Choice, Trial, Tuning, choose
from unseen.evaluation.tuning.run import tune
