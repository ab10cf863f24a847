"""How settings are compared: which classes are held out, and which settings go how far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.classes.splits import ClassHoldout, n_held_out
from unseen.support.parameters import Choice, at_least, check_values

STRATEGIES = ("halving", "grid")
SCORINGS = ("per_class_accuracy", "mean_average_precision")


@dataclass(frozen=True)
class Protocol:
    """How `tune` compares settings; the same protocol gives the same result.

    Parameters
    ----------
    n_classes : how many seen classes are held out each time, or a share of them below one.
    n_splits : how often.
    strategy : "grid" scores every setting on every split. "halving" scores every setting on the
        first split, and after each split the better half stays, but never fewer than four. The
        estimator's own setting always stays.
    n_settings : try so many settings, drawn at random, each with all values of the lists of
        test-time parameters. None tries all combinations of lists, or 40 if there is a range.
    scoring : "per_class_accuracy", or "mean_average_precision" for retrieval.
    random_state : seed of the held-out classes, of the settings that are drawn, and of the order
        in which settings are tried.
    """

    n_classes: float = 0.2
    n_splits: int = 5
    strategy: str = "halving"
    n_settings: int | None = None
    scoring: str = "per_class_accuracy"
    random_state: int | None = 0

    def __post_init__(self) -> None:
        constraints = {"strategy": [Choice(*STRATEGIES)], "scoring": [Choice(*SCORINGS)]}
        check_values(constraints | {"n_settings": [at_least(1), None]}, vars(self))

    @property
    def holdout(self) -> ClassHoldout:
        """The splits."""
        return ClassHoldout(self.n_classes, self.n_splits, self.random_state)

    def held_of(self, labels: np.ndarray) -> tuple[int, int]:
        """How many of how many classes each split holds out."""
        n_classes = np.unique(labels).size
        return n_held_out(self.n_classes, n_classes), n_classes


# The paper holds out two classes.
PROTOCOLS = {"default": Protocol(), "paper": Protocol(n_classes=2)}
