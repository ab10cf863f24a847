"""Shortcuts for tests that are about something else: figures not drawn, jobs in this process."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from unseen.apps.bench import run
from unseen.apps.plots.canvas import encoded
from unseen.apps.report import publish


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of a page are composed, and blank files stand for their drawings."""
    blank = encoded(Figure((0.1, 0.1)), "png")
    monkeypatch.setattr(publish, "encoded", lambda figure, kind: blank)


@pytest.fixture
def jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of a benchmark are run in this process, which has all it needs loaded."""
    monkeypatch.setattr(run, "_in_own_process", lambda job, state, _: run.run_job(job, state))
