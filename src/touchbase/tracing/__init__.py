"""Traces for OpenTelemetry: a span for each request, receipt, applied webhook and outgoing request. Off unless the operator turns it on.

Nothing here loads OpenTelemetry before `open_tracing`: it is the extra `touchbase[otel]`.
"""
