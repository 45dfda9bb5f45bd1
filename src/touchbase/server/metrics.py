"""The metrics of one process, counted with prometheus-client. `touchbase/metrics.py` defines them, `server/exposition.py` exposes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, disable_created_metrics, values

from touchbase.history.events import CHANNELS
from touchbase.metrics import DELIVERIES_RECEIVED, METRICS, Counter, Gauge, Histogram, Labels, Metric, Reading

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


class ProcessMetrics:
    """The metrics of one process: a `touchbase.metrics.Metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._collectors: dict[object, Any] = {metric: self._collector(metric) for metric in METRICS if not isinstance(metric, Reading)}
        self._children: dict[object, Callable[[float], None]] = {}
        """For each metric and values of its labels, the function that counts: the library's `labels()` takes longer than counting."""
        for channel in CHANNELS:
            for outcome in ("stored", "repeated"):
                self.count(DELIVERIES_RECEIVED, channel, outcome, amount=0)  # a rate needs a series that begins with 0

    def count(self, metric: Counter[*Labels], *labels: *Labels, amount: int = 1) -> None:
        """Increase a counter by `amount`, for these values of its labels."""
        child = self._children.get((metric, labels))
        if child is None:
            child = self._children[metric, labels] = self._child(metric, labels).inc
        child(amount)

    def observe(self, metric: Histogram[*Labels], seconds: float, *labels: *Labels) -> None:
        """Add a duration to a histogram, for these values of its labels."""
        child = self._children.get((metric, labels))
        if child is None:
            child = self._children[metric, labels] = self._child(metric, labels).observe
        child(seconds)

    def set(self, metric: Gauge, value: int) -> None:
        """Set a gauge of this process."""
        self._collectors[metric].set(value)

    def _child(self, metric: object, labels: tuple[object, ...]) -> Any:
        collector = self._collectors[metric]
        return collector.labels(*labels) if labels else collector

    def _collector(self, metric: Metric[*tuple[Any, ...]]) -> Any:
        if isinstance(metric, Counter):
            return prometheus_client.Counter(metric.name, metric.text, metric.labels, registry=self.registry)
        if isinstance(metric, Histogram):
            return prometheus_client.Histogram(metric.name, metric.text, metric.labels, registry=self.registry, buckets=metric.buckets)
        return prometheus_client.Gauge(metric.name, metric.text, registry=self.registry, multiprocess_mode="livesum")
