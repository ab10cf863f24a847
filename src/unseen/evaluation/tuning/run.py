"""`tune`: settings to try, classes to hold out, and the setting that is kept fitted on all rows."""

from __future__ import annotations

import os
from typing import Any

from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.evaluation.tuning.protocol import PROTOCOLS, Protocol
from unseen.evaluation.tuning.results import Tuning, best_first, choose
from unseen.evaluation.tuning.scoring import TrainingData
from unseen.evaluation.tuning.search import Search
from unseen.evaluation.tuning.settings import Grid, grid_of, settings_of, with_parameters
from unseen.support.parameters import Choice, check_values


def tune(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    classes: Any,
    grid: Grid | None = None,
    *,
    protocol: Protocol | str = "default",
    budget: float | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Tuning:
    """Search settings by held-out seen classes, then fit the one that is kept on all rows.

    The estimator as it is given is always among the settings. It is kept unless the best of the
    others beats it by more than the margin of the differences between the two, split by
    split: the best of many is partly luck, and tuning should do no harm.

    The descriptions of classes without rows take no part in the search: it is given the lines of
    the seen classes alone. The estimator that comes back knows all of `classes`.

    Settings that differ only in `test_time_parameters` of the estimator share one fit.

    Parameters
    ----------
    grid : parameter names, each with a list of values or a range to draw from, such as
        `scipy.stats.loguniform(0.3, 3)`; None for the `default_grid` of the method. Values drawn
        for a parameter that is a whole number are rounded to whole numbers.
    protocol : a `Protocol`: which classes are held out, and how settings are compared. "default"
        is `Protocol()`, which holds out a fifth of the seen classes, 5 times; "paper" holds out
        two of them.
    budget : seconds after which the search begins no fit; None for no limit. The estimator as it is
        given is scored on all splits whatever the budget, and the fit of the setting that is kept
        on all rows comes on top.
    n_jobs : how many fits to make at once, as everywhere in scikit-learn. Inside of
        `joblib.parallel_config("dask")` they are made by the workers of the current Dask client.
    checkpoint : a file that keeps the outcome of every fit. A search that was interrupted or killed
        resumes from it, to the same result, when it is called again with the same data, estimator
        and grid; `budget` includes the seconds spent before, and may change. The file stays.
    """
    if budget is not None and not budget > 0:
        raise InputError(f"budget must be a number of seconds above 0, not {budget}")
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores, not 0")
    if isinstance(protocol, str):
        check_values({"protocol": [Choice(*PROTOCOLS)]}, {"protocol": protocol})
        protocol = PROTOCOLS[protocol]
    data = TrainingData.of(X, y, classes)
    grid = grid_of(estimator) if grid is None else grid
    settings = settings_of(estimator, grid, protocol.n_settings, protocol.random_state)
    search = Search(estimator, settings, protocol, budget, n_jobs)
    search.run(data, checkpoint)
    trials = tuple(search.trials[k] for k in best_first(search.trials, range(len(settings))))
    if trials[0].error is not None or not trials[0].scores:
        failed = next(t for t in search.trials if t.error is not None)
        raise InputError(f"no setting could be fitted; the first failed with {failed.error}")
    choice = choose(trials, search.trials[0], *protocol.held_of(data.labels))
    model = with_parameters(estimator, choice.kept.parameters)
    return Tuning(
        trials=trials,
        choice=choice,
        estimator=model.fit(data.X, data.labels, classes=data.table),
        protocol=protocol,
        n_fits=search.n_fits,
        budget=budget,
        spent=search.spent,
        finished=search.finished,
    )
