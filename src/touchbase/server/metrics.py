"""Counters of one server process, and their text for Prometheus.

A counter is an integer in a dictionary under its finished series name, so that counting costs a
dictionary access and the text is mere joining. Several processes add up their counters (`shared.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache

from touchbase.domain.fetching import Fetched
from touchbase.domain.ports import WorkReport

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the latency buckets in seconds; one more holds the rest."""

HELP = {
    "touchbase_deliveries_received_total": ("counter", "Webhook calls that are on disk, repeats included."),
    "touchbase_deliveries_kept_total": ("counter", "Webhook calls kept for the first time."),
    "touchbase_deliveries_repeated_total": ("counter", "Webhook calls that we had already."),
    "touchbase_deliveries_refused_total": (
        "counter",
        "Refused webhook calls by channel, likely tool and cause; no body was stored.",
    ),
    "touchbase_deliveries_processed_total": ("counter", "Deliveries worked on, by the state they ended in."),
    "touchbase_delivery_problems_total": ("counter", "Deliveries that were applied with a problem, by its code."),
    "touchbase_records_created_total": ("counter", "Contacts and companies created by webhook calls."),
    "touchbase_fetch_calls_total": ("counter", "Calls to the APIs of tools for records, by tool and what they came to."),
    "touchbase_records_fetched_total": ("counter", "Records that tools' APIs gave us, by tool."),
    "touchbase_problems_total": ("counter", "Answers of the application that were a problem, by code."),
    "touchbase_log_lines_dropped_total": ("counter", "Log lines dropped because standard error is read too slowly."),
    "touchbase_connections": ("gauge", "Open connections."),
    "touchbase_requests_in_progress": ("gauge", "Requests in progress."),
    "touchbase_queue_depth": ("gauge", "Commands waiting for a transaction."),
    "touchbase_store_warnings": ("gauge", "Things that an operator should change about the store; the log and /admin/v1/status say which."),
    "touchbase_inbox_deliveries": ("gauge", "Deliveries by state, of the states that may still change."),
    "touchbase_inbox_oldest_seconds": ("gauge", "Age of the oldest delivery in each of these states; 0 when there is none."),
    "touchbase_inbox_oldest_waiting_seconds": ("gauge", "Age of the oldest delivery that is not worked on yet; 0 when none waits."),
    "touchbase_request_seconds": ("histogram", "Time from the end of a request's headers to the end of its answer."),
}

Latencies = dict[str, list[float]]
"""By `route="...",status="2xx"`: the count of every bucket, then the sum of seconds."""


class Metrics:
    """What this process has counted since it started."""

    def __init__(self) -> None:
        self.counts: dict[str, float] = {}
        self._latencies: dict[tuple[str, int], list[float]] = {}

    def delivery_received(self, channel: str, repeated: bool) -> None:
        """A webhook call is on disk; `repeated` when it is one that we had."""
        counts = self.counts
        for series in _received(channel, repeated):
            counts[series] = counts.get(series, 0) + 1

    def delivery_refused(self, channel: str, tool: str | None, cause: str) -> None:
        """A webhook call was refused; `tool` is the one that it looks like."""
        self._add("touchbase_deliveries_refused_total", f'channel="{channel}",tool="{tool or ""}",cause', cause)

    def request_refused(self, code: str) -> None:
        """An answer was a problem with this code."""
        self._add("touchbase_problems_total", "code", code)

    def worked(self, report: WorkReport) -> None:
        """The inbox worker did a turn."""
        for state, count in report.ended.items():
            self._add("touchbase_deliveries_processed_total", "state", state, count)
        for code, count in report.problems.items():
            self._add("touchbase_delivery_problems_total", "code", code, count)
        self.counts["touchbase_records_created_total"] = self.counts.get("touchbase_records_created_total", 0) + report.created

    def fetched(self, told: Fetched) -> None:
        """A tool's API was asked for records."""
        self._add("touchbase_fetch_calls_total", f'tool="{told.tool}",outcome', told.outcome)
        if told.records:
            self._add("touchbase_records_fetched_total", "tool", told.tool, told.records)

    def request_ended(self, route: str, status: int, seconds: float) -> None:
        """A request was answered, or its caller left (499)."""
        row = self._latencies.get((route, status // 100))
        if row is None:
            row = self._latencies[(route, status // 100)] = [0] * (len(BUCKETS) + 2)
        row[bisect_left(BUCKETS, seconds)] += 1
        row[-1] += seconds

    @property
    def latencies(self) -> Latencies:
        """The latency histogram by its finished labels."""
        return {f'route="{route}",status="{status}xx"': row for (route, status), row in self._latencies.items()}

    def _add(self, name: str, label: str, value: str, count: float = 1) -> None:
        series = f'{name}{{{label}="{value}"}}'
        self.counts[series] = self.counts.get(series, 0) + count


@cache
def _received(channel: str, repeated: bool) -> tuple[str, str]:
    label = f'{{channel="{channel}"}}'
    return f"touchbase_deliveries_received_total{label}", f"touchbase_deliveries_{'repeated' if repeated else 'kept'}_total{label}"


def exposition(values: Mapping[str, float], latencies: Latencies) -> str:
    """The text that Prometheus reads; `values` are by finished series name."""
    by_name: dict[str, list[str]] = {name: [] for name in HELP}
    for series, value in sorted(values.items()):
        by_name[series.partition("{")[0]].append(f"{series} {value:g}" if value % 1 else f"{series} {int(value)}")
    for labels, row in sorted(latencies.items()):
        by_name["touchbase_request_seconds"].extend(_histogram(labels, row))
    lines: list[str] = []
    for name, (kind, text) in HELP.items():
        lines += (f"# HELP {name} {text}", f"# TYPE {name} {kind}", *by_name[name])
    return "\n".join(lines) + "\n"


def _histogram(labels: str, row: list[float]) -> Iterator[str]:
    so_far = 0
    for end, count in zip((*BUCKETS, "+Inf"), row[:-1], strict=True):
        so_far += int(count)
        yield f'touchbase_request_seconds_bucket{{{labels},le="{end}"}} {so_far}'
    yield f"touchbase_request_seconds_sum{{{labels}}} {row[-1]:.6f}"
    yield f"touchbase_request_seconds_count{{{labels}}} {so_far}"
