"""Turning tracing on: check the requirements, load OpenTelemetry, and make the exporter that its own variables describe."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from touchbase.config import BadSettings
from touchbase.tracing.interface import Tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

SERVICE = "touchbase"
NOT_INSTALLED = "tracing needs OpenTelemetry, which is not installed here: pip install 'touchbase[otel]', or turn TOUCHBASE_TRACING off"
PROTOCOL = "http/protobuf"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_NEEDED = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def check_tracing() -> None:
    """Raise `BadSettings` if traces cannot be sent; load nothing."""
    if not all(map(_is_installed, _NEEDED)):
        raise BadSettings(NOT_INSTALLED)
    for name in _PROTOCOLS:
        if (wanted := os.environ.get(name, "").strip() or PROTOCOL) != PROTOCOL:
            raise BadSettings(
                f"{name} is {wanted!r}, and Touchbase sends {PROTOCOL} only: unset it, and name the collector's port for HTTP"
            )


def open_tracing(version: str, client_name: Callable[[str], str], *, exporter: SpanExporter | None = None) -> Tracing:
    """Load OpenTelemetry and return its tracing; raises as `check_tracing`.

    `client_name` hides a client's id. `exporter`: in place of OTLP over HTTP.
    """
    check_tracing()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    from touchbase.tracing.spans import Spans

    about = {"service.version": version}
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        about["service.name"] = SERVICE
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()) if exporter is None else SimpleSpanProcessor(exporter))
    return Spans(provider, version, client_name)


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a package above it
        return False
