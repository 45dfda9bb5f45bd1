"""The server's metrics. `docs/reference/metrics.md` lists them, `server/exposition.py` exposes them.

Children of frequent metrics (one set of label values each) are cached, because `labels()` takes longer than counting.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, values

from touchbase.common.timestamps import SECOND, Clock
from touchbase.connections import CHANNELS, FetchOutcome
from touchbase.events import WorkReport

REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
APPLY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
"""Upper bounds of the histograms' buckets, in seconds."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""The label of any other method, so that an HTTP client cannot create series."""

# A `_created` series for each counter would double the page, and the processes' files have none.
disable_created_metrics()
# Without this, the library reads an environment variable that may be meant for another program.
values.ValueClass = values.MutexValue


def count_in_files(folder: Path, process: int) -> None:
    """Store the values of all metrics that are created later in files of this folder, which only `process` writes.

    A process with the number of a dead one continues its counters.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: process)


def now() -> int:
    """Return the current time in microseconds."""
    return time.time_ns() // 1000


class Metrics:
    """The metrics of one process."""

    def __init__(self, clock: Clock = now) -> None:
        self._clock = clock
        self.registry = CollectorRegistry()
        self._make_delivery_metrics()
        self._make_server_metrics()
        self._requests: dict[tuple[str, str, int], Callable[[float], None]] = {}
        self._received = {
            (channel, repeated): self.received.labels(channel, "repeated" if repeated else "stored").inc
            for channel in CHANNELS
            for repeated in (False, True)
        }
        self._dropped = 0

    def _make_delivery_metrics(self) -> None:
        self.received = self._counter("deliveries_received", "Webhooks that are stored, and repeats.", "channel", "outcome")
        self.refused = self._counter("deliveries_refused", "Webhooks that were refused; no body was stored.", "channel", "tool", "cause")
        self.processed = self._counter("deliveries_processed", "Deliveries processed, by their new state.", "channel", "tool", "outcome")
        self.delay = Histogram(
            "touchbase_delivery_apply_delay_seconds",
            "Time from the receipt or replay of a delivery until it is applied.",
            registry=self.registry,
            buckets=APPLY_BUCKETS,
        )
        self.delivery_problems = self._counter("delivery_problems", "Deliveries that were applied with a problem.", "code")
        self.created = self._counter("records_created", "Contacts and companies created by deliveries.")
        self.fetch_calls = self._counter("fetch_calls", "Requests to the APIs of tools.", "tool", "outcome")
        self.fetched_records = self._counter("records_fetched", "Records received from the APIs of tools.", "tool")

    def _make_server_metrics(self) -> None:
        self.duration = Histogram(
            "touchbase_http_request_duration_seconds",
            "Time from the end of a request's headers to the end of its response.",
            ("route", "method", "status"),
            registry=self.registry,
            buckets=REQUEST_BUCKETS,
        )
        self.problems = self._counter("http_problems", "Responses with a problem body.", "code")
        self.log_lines_dropped = self._counter("log_lines_dropped", "Log lines dropped because standard error was not read fast enough.")
        self.connections = self._gauge("http_connections", "Open connections.")
        self.requests_in_progress = self._gauge("http_requests_in_progress", "Requests in progress.")
        self.queue_depth = self._gauge("store_queue_depth", "Commands waiting for a transaction.")

    def delivery_received(self, channel: str, repeated: bool) -> None:
        """Count a stored webhook; `repeated` if an equal one was stored before."""
        self._received[channel, repeated]()

    def delivery_refused(self, channel: str, tool: str | None, cause: str) -> None:
        """Count a refused webhook; `tool` is the tool that its content suggests."""
        self.refused.labels(channel, tool or "", cause).inc()

    def request_refused(self, code: str) -> None:
        """Count a problem response with this code."""
        self.problems.labels(code).inc()

    def worked(self, report: WorkReport) -> None:
        """Count the results of one batch of the inbox worker."""
        for labels, count in report.outcomes.items():
            self.processed.labels(*labels).inc(count)
        for code, count in report.problems.items():
            self.delivery_problems.labels(code).inc(count)
        self.created.inc(report.created)
        at = self._clock()
        for since in report.applied_since_us:
            self.delay.observe(max(0, at - since) / SECOND)

    def fetched(self, fetch: FetchOutcome) -> None:
        """Count a request to a tool's API."""
        self.fetch_calls.labels(fetch.tool, fetch.outcome).inc()
        if fetch.records:
            self.fetched_records.labels(fetch.tool).inc(fetch.records)

    def request_ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """Observe a request that got its response, or whose HTTP client disconnected (499); `route` is the path's template."""
        observe = self._requests.get((route, method, status))
        if observe is None:
            labels = (route, method if method in METHODS else OTHER, str(status))
            observe = self._requests[route, method, status] = self.duration.labels(*labels).observe
        observe(seconds)

    def set_load(self, connections: int, requests: int, queued: int, dropped: int) -> None:
        """Set the gauges: open connections, requests in progress, queued commands; `dropped`: log lines dropped since the start."""
        self.connections.set(connections)
        self.requests_in_progress.set(requests)
        self.queue_depth.set(queued)
        if dropped > self._dropped:
            self.log_lines_dropped.inc(dropped - self._dropped)
            self._dropped = dropped

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"touchbase_{name}_total", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"touchbase_{name}", text, registry=self.registry, multiprocess_mode="livesum")
