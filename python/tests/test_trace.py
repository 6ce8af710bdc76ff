# SPDX-License-Identifier: Apache-2.0
"""The trace of a caller's OpenTelemetry span goes with each call."""

from __future__ import annotations

import sys

import pytest

import privacy_accountant as pa
from privacy_accountant._trace import trace_context


def test_the_callers_span() -> None:
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    settings = pa.Client("127.0.0.1:1", principal="ann")._core.settings
    assert dict(settings.metadata) == {"accountant-principal": "ann"}  # no span, no trace
    with TracerProvider().get_tracer("test").start_as_current_span("job") as span:
        found = dict(settings.metadata)
    context = span.get_span_context()
    assert found["accountant-principal"] == "ann"
    version, trace_id, span_id, _ = found["traceparent"].split("-")
    assert version == "00" and trace_id == trace.format_trace_id(context.trace_id)
    assert span_id == trace.format_span_id(context.span_id)


def test_without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert trace_context() == () and "opentelemetry.trace" not in sys.modules
