"""Every endpoint under thousands of made-up requests: no fault, no answer outside its schema."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from unseen.apps.serve.app import create_app
from unseen.apps.serve.settings import Settings

with warnings.catch_warnings(action="ignore"):
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis makes up requests")


def tried(serve: Any, examples: int) -> int:
    """Try all operations in process, by requests that fit and that do not; how many were sent."""
    checks = [
        schemathesis.checks.not_a_server_error,
        schemathesis.checks.status_code_conformance,
        schemathesis.checks.content_type_conformance,
        schemathesis.checks.response_schema_conformance,
    ]
    with warnings.catch_warnings(action="ignore"):
        app = create_app(serve(), Settings(names=("testserver",)))
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    sent = 0
    for result in schema.get_all_operations():
        takes = bool(result.ok().body) or "{" in result.ok().path
        for mode in schemathesis.GenerationMode:
            if mode is schemathesis.GenerationMode.NEGATIVE and not takes:
                continue

            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=[*HealthCheck],  # pyright: ignore[reportArgumentType]
            )
            @given(case=result.ok().as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                nonlocal sent
                sent += 1
                with warnings.catch_warnings(action="ignore"):
                    answer = case.call()
                    case.validate_response(answer, checks=checks)

            with suppress(Unsatisfiable):  # some cannot be given anything wrong
                check()
    return sent


def test_every_endpoint(serve: Any):
    assert tried(serve, 10) > 150


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="two thousand requests: not on each push")
def test_every_endpoint_at_length(serve: Any):
    assert tried(serve, 130) > 2000
