"""Traces for OpenTelemetry: a span for each request, receipt, applied webhook and outgoing request. Off unless the operator turns it on.

Nothing here loads OpenTelemetry before `open_tracing`: it is the extra `touchbase[otel]`.
"""

from __future__ import annotations

from touchbase.tracing.interface import AppliedDelivery, Outgoing, Receipt, Tracing, TracingScope
from touchbase.tracing.logged import current_trace_id
from touchbase.tracing.setup import check_tracing, open_tracing

__all__ = [
    "AppliedDelivery",
    "Outgoing",
    "Receipt",
    "Tracing",
    "TracingScope",
    "check_tracing",
    "current_trace_id",
    "open_tracing",
]
