"""Access log: the duration of every request in the metrics, and one log line.

The line contains the route's name, never the path: a webhook's path contains its client's id, which works like
a password. The log contains no bodies, query strings or headers, and the client only as a hash.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from time import perf_counter
from typing import Any

import msgspec

from touchbase.metrics import HTTP_REQUEST_DURATION, Metrics
from touchbase.server.logs import FLUSH_BYTES, LineWriter, Stamp, text_into
from touchbase.server.proxy_headers import address_of
from touchbase.server.request_cycle import Cycle
from touchbase.tracing.interface import Tracing

UNKNOWN_ROUTE = "none"
NO_TEMPLATE = "unmatched"
"""The route in the metrics of a request whose path matches no template, or whose response was sent before routing."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""The metric's label of any other method, so that an HTTP client cannot create series."""


class LoggedRequest(msgspec.Struct, omit_defaults=True):
    """The log line of one request."""

    time: str
    level: str
    event: str
    method: str
    route: str
    status: int
    ms: float
    bytes: int
    request_id: str = ""
    client: str = ""
    peer: str = ""
    trace_id: str = ""


@lru_cache(maxsize=4096)
def client_log_name(client_id: str) -> str:
    """Hash a client's id for log lines: stable, and useless for sending requests."""
    return blake2b(client_id.encode("utf-8", "surrogatepass"), digest_size=6, person=b"touchbase-log").hexdigest()


class AccessLog:
    """Records every request that ends."""

    def __init__(
        self, metrics: Metrics, writer: LineWriter | None, lowest: str = "info", *, as_text: bool = False, tracing: Tracing | None = None
    ) -> None:
        self.metrics = metrics
        self._tracing = tracing
        self.writer = writer if lowest in ("debug", "info") else None
        self._stamp = Stamp()
        self._encode = text_into if as_text else msgspec.json.Encoder().encode_into

    def __call__(self, cycle: Cycle) -> None:
        """Record one request whose response was written or whose HTTP client disconnected."""
        seconds = perf_counter() - cycle.started
        scope: Any = cycle.scope
        get = scope.get
        route = get("touchbase.route", UNKNOWN_ROUTE)
        method = scope["method"]
        metric_labels = get("touchbase.template", NO_TEMPLATE), method if method in METHODS else OTHER, str(cycle.status)
        self.metrics.observe(HTTP_REQUEST_DURATION, seconds, *metric_labels)
        trace_id = "" if self._tracing is None else self._tracing.end(scope, cycle.status, seconds)
        writer = self.writer
        if writer is None:
            return
        client = get("touchbase.client")
        line = LoggedRequest(
            self._stamp.now(),
            "info",
            "request",
            method,
            route,
            cycle.status,
            round(seconds * 1000, 2),
            cycle.sent_bytes,
            get("touchbase.request_id", ""),
            client_log_name(client) if client else "",
            address_of(scope),
            trace_id,
        )
        self._encode(line, writer.buffer, -1)
        writer.buffer += b"\n"
        if len(writer.buffer) > FLUSH_BYTES:
            writer.flush()
