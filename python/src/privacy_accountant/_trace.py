# SPDX-License-Identifier: Apache-2.0
"""The trace that a call belongs to, where the program uses OpenTelemetry."""

from __future__ import annotations

import sys


def trace_context() -> tuple[tuple[str, str], ...]:
    """The W3C's trace context of the caller's span, as metadata of a call; empty without a span.

    It needs no package: who has a span has imported opentelemetry.trace.
    """
    if "opentelemetry.trace" not in sys.modules:
        return ()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return tuple(carrier.items())
