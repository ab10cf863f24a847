"""Every endpoint under thousands of made-up requests: no fault, no answer outside its schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from unseen.apps.serve.app import create_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis makes up the requests")
# In proportion to what can be wrong with a request.
EXAMPLES = 25


def run(serve: Any, examples: int) -> int:
    """Try all operations in process; how many requests were sent."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(serve()))
    sent = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @operation.as_strategy_test if False else _given(operation)
        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def check(case: Any) -> None:
            nonlocal sent
            sent += 1
            answer = case.call()
            assert answer.status_code < 500 or answer.status_code == 503
            case.validate_response(
                answer,
                checks=[
                    not_a_server_error,
                    status_code_conformance,
                    content_type_conformance,
                    response_schema_conformance,
                ],
            )
            del negative_data_rejection

        check()
    return sent


def _given(operation: Any) -> Any:
    from hypothesis import given

    return given(case=operation.as_strategy())


def test_every_endpoint(serve: Any):
    assert run(serve, EXAMPLES) > 100


@pytest.mark.slow
def test_every_endpoint_at_length(serve: Any):
    assert run(serve, 400) > 3000
