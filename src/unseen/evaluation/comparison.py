"""What `compare` has found: methods on the same splits, which one to take, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from statistics import fmean
from typing import Any

from unseen.errors import InputError, counted, nearest, require
from unseen.estimators import DEFAULT_METHOD
from unseen.evaluation.estimates import Estimate, estimate
from unseen.metrics.intervals import Interval
from unseen.support.shown import Shown

# A method this many times faster is worth a word where it cannot be told apart.
_MUCH_FASTER = 2.0
# How many methods are printed.
_SHOWN = 12
MEASURES = {"per_class_accuracy": "accuracy", "mean_average_precision": "mAP"}


@dataclass(frozen=True)
class Compared:
    """One method: what it reached on each split it was given, from the first on.

    fit_seconds : of each fit.
    intervals : the ends of the 95 % interval of each accuracy, over classes and their rows.
    memory : by how many MB its first fit raised the peak of memory, where the system tells.
    error : what stopped it.
    left_out : why it has fewer splits than it should have: the budget.
    """

    method: str
    per_class_accuracy: tuple[float, ...] = ()
    mean_average_precision: tuple[float, ...] = ()
    fit_seconds: tuple[float, ...] = ()
    memory: float | None = None
    error: str | None = None
    left_out: str | None = None
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def interval(self) -> Interval | None:
        """The interval of the accuracy on the classes of one split: the mean ends over splits."""
        if not self.intervals:
            return None
        return Interval(*(fmean(ends) for ends in zip(*self.intervals, strict=True)))

    @property
    def n_splits(self) -> int:
        """How many splits it was measured on."""
        return len(self.per_class_accuracy)

    @property
    def seconds(self) -> float:
        """The mean of a fit."""
        return fmean(self.fit_seconds) if self.fit_seconds else nan


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Methods on seen classes held out of training, the same ones for all of them.

    methods : best first; one that was measured on fewer splits stands after those with more, and
        one without a result last.
    scoring : the measure by which they are ordered.
    n_splits, n_held, n_seen : how often how many of the seen classes were held out.
    budget, spent : seconds that were allowed (None: no limit) and that it took.

    Standard errors allow for splits that share classes; see `unseen.evaluation.estimates`.
    """

    _drawn_by = "unseen.apps.plots.comparison:comparison_figure"

    methods: tuple[Compared, ...]
    scoring: str
    n_splits: int
    n_held: int
    n_seen: int
    budget: float | None
    spent: float

    @property
    def best(self) -> Compared:
        return self.methods[0]

    @property
    def recommended(self) -> str:
        """The name of the method to take.

        It is the best one, or the default, if they cannot be told apart: a choice between equals
        would be luck. Another of those that cannot be told apart from the best is taken if it is
        clearly ahead of that one by the other measure.
        """
        equals = [m.method for m in self._full if m.method in self.rivals]
        chosen = DEFAULT_METHOD if DEFAULT_METHOD in equals else self.best.method
        clear = [n for n in equals if self.behind(chosen, self._other, n).is_clear]
        values = {name: self.estimate(name, self._other).mean for name in clear}
        return max(values, key=lambda name: values[name]) if values else chosen

    @property
    def _other(self) -> str:
        return next(measure for measure in MEASURES if measure != self.scoring)

    @property
    def _full(self) -> list[Compared]:
        """The methods with as many splits as the best."""
        return [m for m in self.measured if m.n_splits == self.best.n_splits]

    def of(self, name: str) -> Compared:
        """What one of the methods has reached."""
        known = {found.method: found for found in self.methods}
        if name not in known:
            raise InputError(f"{name!r} was not compared{nearest(name, known)}")
        return known[name]

    def estimate(self, name: str, measure: str = "") -> Estimate:
        """The mean of a method by a measure, by default the one of `scoring`."""
        return self._estimate(getattr(self.of(name), measure or self.scoring))

    def behind(self, name: str, measure: str = "", best: str = "") -> Estimate:
        """By how much a method is behind the best one, or another, split by split, on the splits
        of both."""
        first, second = (
            getattr(self.of(n), measure or self.scoring) for n in (best or self.best.method, name)
        )
        return self._estimate([a - b for a, b in zip(first, second, strict=False)])

    def _estimate(self, values: Sequence[float]) -> Estimate:
        return estimate(values, self.n_held, self.n_seen)

    @property
    def measured(self) -> tuple[Compared, ...]:
        """The methods with at least one split, best first."""
        return tuple(found for found in self.methods if found.n_splits)

    @property
    def rivals(self) -> list[str]:
        """Methods that cannot be told apart from the best, on the splits that both have."""
        return [m.method for m in self.measured[1:] if not self.behind(m.method).is_clear]

    def as_dict(self) -> dict[str, Any]:
        """All of it for a program."""
        found = []
        for one in self.methods:
            facts = asdict(one) | {"seconds": one.seconds}
            if one.n_splits:
                facts["behind"] = _plain(self.behind(one.method))
                facts["is_clear"] = self.behind(one.method).is_clear
                facts |= {f"{m}_mean": _plain(self.estimate(one.method, m)) for m in MEASURES}
            found.append(facts)
        names = ("scoring", "n_splits", "n_held", "n_seen", "budget", "spent", "recommended")
        facts = {name: getattr(self, name) for name in names}
        return facts | {"rivals": self.rivals, "methods": found, "words": self.in_words()}

    def to_frame(self) -> Any:
        """The methods as a pandas DataFrame, best first (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        lines = []
        for found in self.methods:
            line: dict[str, Any] = {"method": found.method, "splits": found.n_splits}
            for measure in MEASURES:
                known = self.estimate(found.method, measure)
                line |= {measure: known.mean, f"{measure}_error": known.error}
            if found.interval is not None:
                line |= {"accuracy_low": found.interval.low, "accuracy_high": found.interval.high}
            lines.append(line | {"fit_seconds": found.seconds, "error": found.error})
        return pandas.DataFrame(lines).set_index("method")

    def _facts(self) -> Iterator[tuple[str, object]]:
        held = f"{self.n_held} of {self.n_seen} seen classes held out, {self.n_splits} times"
        yield "recommended", self.recommended if self.measured else "none: nothing was measured"
        yield "by", f"{self.scoring}; {held}"
        for found in self.methods[:_SHOWN]:
            told = shown(self.estimate(found.method)) if found.n_splits else None
            yield found.method, told or found.error or found.left_out or "no result"
        if len(self.methods) > _SHOWN:
            yield "and", f"{len(self.methods) - _SHOWN} more"

    def in_words(self) -> list[str]:
        """Which method to take and how sure that is, a sentence or two for each point."""
        told = [self._says_choice(), self._says_beaten(), self._says_rivals(), self._says_other()]
        return [text for text in [*told, *self._says_undone()] if text]

    def _says_choice(self) -> str:
        name, best = self.recommended, self.best.method
        n_splits, measure = self.of(name).n_splits, MEASURES[self.scoring]
        drawn = f"{counted(n_splits, 'split')} that hold out {self.n_held} of {self.n_seen}"
        called = f"{name}, the default" if name == DEFAULT_METHOD else name
        text = f"Take {called}: {measure} {shown(self.estimate(name))} % on {drawn} seen classes."
        if len(self.measured) == 1:
            return f"{text} There is no other method to compare it with."
        if n_splits == 1:
            return f"{text} One split tells next to nothing: allow more time, or more splits."
        if name == best:
            return text
        if not self.behind(best, self._other, name).is_clear:
            lead = _distance(self.behind(name))
            return (
                f"{text} {best} has the highest {measure} ({lead}), but that is no clear "
                "difference, so there is no reason to leave the default."
            )
        lead = _ahead(self.behind(best, self._other, name))
        return (
            f"{text} {best} has the highest {measure}, but not clearly, and by "
            f"{MEASURES[self._other]} {name} is ahead of it by {lead}."
        )

    def _against(self, name: str) -> Estimate:
        return self.behind(name, best=self.recommended)

    def _says_beaten(self) -> str:
        beaten = [m.method for m in self.measured if self._against(m.method).is_clear]
        if not beaten:
            return ""
        closest = min(beaten, key=lambda name: self._against(name).mean)
        text = f"{self.recommended} is ahead of {closest} by {_ahead(self._against(closest))}"
        more = len(beaten) - 1
        return f"{text}, and clearly ahead of {more} more." if more else f"{text}."

    def _says_rivals(self) -> str:
        chosen = self.of(self.recommended)
        others = [m for m in self.measured if m is not chosen and m.n_splits > 1]
        rivals = [m for m in others if not self._against(m.method).is_clear]
        if not rivals:
            return ""
        found = [f"{m.method} ({_distance(self._against(m.method))})" for m in rivals]
        text = f"{chosen.method} cannot be told apart from {_joined(found)}."
        fastest = min(rivals, key=lambda m: m.seconds)
        if fastest.seconds * _MUCH_FASTER < chosen.seconds:
            of_these = f"Of these {fastest.method} is the fastest"
            faster = of_these if len(rivals) > 1 else f"{fastest.method} is faster"
            text += f" {faster}: a fit takes {fastest.seconds:.2g} s, that of {chosen.method} "
            text += f"{chosen.seconds:.2g} s."
        return text

    def _says_other(self) -> str:
        """The best by the other measure, where that is another method."""
        if self.best.n_splits < 2:
            return ""
        leader = max(self._full, key=lambda m: self.estimate(m.method, self._other).mean).method
        if leader == self.recommended:
            return ""
        lead = self.behind(self.recommended, self._other, leader)
        unclear = "" if lead.is_clear else ", which is not clear"
        words = f"{leader} is ahead of {self.recommended} by {_ahead(lead)}{unclear}"
        return f"By {MEASURES[self._other]} {words}."

    def _says_undone(self) -> list[str]:
        told = []
        for one in (m for m in self.methods if m.left_out and m.n_splits):
            ahead = self._against(one.method).mean < 0
            hint = " It was ahead on what it had: allow it more time." if ahead else ""
            told.append(f"{one.method} was not taken to the end: {one.left_out}.{hint}")
        if untried := [m.method for m in self.methods if m.left_out and not m.n_splits]:
            told.append(f"Not tried, as the budget was spent: {', '.join(untried)}.")
        return told + [f"{m.method} failed: {m.error}" for m in self.methods if m.error]


def shown(estimate: Estimate) -> str:
    """Shares in percent with their standard error: "77.9 ± 1.2"."""
    error = f" ± {100 * estimate.error:.1f}" if isfinite(estimate.error) else ""
    return f"{100 * estimate.mean:.1f}{error}"


def _ahead(gain: Estimate) -> str:
    errors = f" ({gain.in_errors:.1f} standard errors)" if isfinite(gain.in_errors) else ""
    return f"{shown(gain)} points{errors}"


def _distance(gain: Estimate) -> str:
    words = f"{100 * gain.mean:+.1f} ± {100 * gain.error:.1f} points"
    return f"{words} on {counted(gain.n_splits, 'split')}"


def _joined(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _plain(estimate: Estimate) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {k: v if isfinite(v) else None for k, v in estimate._asdict().items()}
