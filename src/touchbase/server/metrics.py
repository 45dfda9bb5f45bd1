"""The metrics of a process, counted with prometheus-client, and the text of `/metrics`; `touchbase/metrics.py` defines them.

With several processes, each stores its values in files of a folder that their parent created, and the process that
serves `/metrics` sums them (https://prometheus.github.io/client_python/multiprocess/).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics, values
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric as PrometheusMetric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from touchbase.clients.stored_bytes import WARNING_PERCENT, StoredTotals
from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.sql.objects import ObjectCounts
from touchbase.history.events import CHANNELS
from touchbase.inbox.queries import InboxCounts
from touchbase.metrics import (
    BUILD_INFO,
    CLIENTS_OVER_STORAGE,
    DELIVERIES_RECEIVED,
    ERASURES_OPEN,
    INBOX_DELIVERIES,
    INBOX_OLDEST_DELIVERY_AGE,
    LARGEST_CLIENT_BYTES,
    METRICS,
    OBJECTS_OLDEST_AGE,
    OBJECTS_WAITING,
    READ_DATABASE_LAG,
    SILENT_CONNECTIONS,
    SPOOL_OLDEST_AGE,
    SPOOL_WEBHOOKS,
    STORE_WARNINGS,
    STORED_BYTES,
    WEBHOOK_ENDPOINTS,
    WEBHOOKS_OLDEST_AGE,
    WEBHOOKS_WAITING,
    Counter,
    Gauge,
    Histogram,
    Labels,
    Metric,
    Reading,
)
from touchbase.outgoing.models import Backlog
from touchbase.spool.counting import SpoolCounts

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


MEMORY = Path("/dev/shm")  # noqa: S108 (a folder of its own is made in it)
NEWEST = "process_start_time_seconds"
"""The maximum over all processes is exposed, so that a replaced process shows; all other process metrics are summed."""


class SharedMetrics:
    """The folder with the metrics of several processes, each with its number."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        # In memory if possible: a write to a mapped file on a full disk would kill the process.
        in_memory = str(MEMORY) if os.access(MEMORY, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="touchbase-metrics-", dir=in_memory))

    def join(self, process: int) -> None:
        """Store this process's metrics under its number; call it before any metric is created."""
        count_in_files(self.folder, process)
        self._pid_file(process).write_text(str(os.getpid()))

    def ended(self, process: int) -> None:
        """Remove the gauges of a process that has ended; its counters stay, and its successor continues them."""
        mark_process_dead(process, str(self.folder))
        self._pid_file(process).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self) -> list[str]:
        """Return the ids of the running server processes."""
        return [file.read_text() for file in self.folder.glob("*.pid")]

    def _pid_file(self, process: int) -> Path:
        return self.folder / f"{process}.pid"


class Exposition:
    """Encodes the metrics of all processes."""

    def __init__(self, metrics: ProcessMetrics, version: str, shared: SharedMetrics | None = None) -> None:
        self._metrics = metrics
        self._version = version
        self._shared = shared

    def text(self, accept: str, store: Iterable[PrometheusMetric]) -> tuple[str, bytes]:
        """Return content type and body for this `Accept` header; `store`: the metrics read from the store."""
        build = _family(BUILD_INFO)
        build.add_metric((self._version,), 1)
        page = _Page([build, *self._counted(), *store, *self._processes()])
        try:
            encode, content_type = choose_encoder(accept)
        except TypeError:  # the version in the header is not a number
            encode, content_type = choose_encoder("")
        return content_type, encode(page)

    def _counted(self) -> list[PrometheusMetric]:
        own = list(self._metrics.registry.collect())
        if self._shared is None:
            return own
        total = {sample.name: sample for sample in _summed(self._shared.folder)}
        return [total.get(sample.name) or PrometheusMetric(sample.name, sample.documentation, sample.type) for sample in own]

    def _processes(self) -> Iterable[PrometheusMetric]:
        total: dict[str, PrometheusMetric] = {}
        for pid in ["self"] if self._shared is None else self._shared.pids():
            for metric in ProcessCollector(pid=partial(str, pid), registry=None).collect():
                combined = total.setdefault(metric.name, metric)
                if combined is not metric:
                    (combined_sample,), (sample,) = combined.samples, metric.samples
                    value = max(combined_sample.value, sample.value) if metric.name == NEWEST else combined_sample.value + sample.value
                    combined.samples = [combined_sample._replace(value=value)]
        return total.values()


def _summed(folder: Path) -> Iterable[PrometheusMetric]:
    """Return the summed values of all processes. A file that a process has just created is empty, and is skipped."""
    metrics: Iterable[PrometheusMetric] = MultiProcessCollector.merge([str(file) for file in folder.glob("*.db") if _has_values(file)])
    return metrics


def _has_values(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


class _Page(CollectorRegistry):
    """Collected metrics, in the form that the library's encoders accept."""

    def __init__(self, metrics: Iterable[PrometheusMetric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterable[PrometheusMetric]:
        """Return the metrics."""
        return self._metrics


def spool_metrics(spool: SpoolCounts | None, now: Micros) -> list[PrometheusMetric]:
    """Build the metrics of the spool; without one they have no values."""
    webhooks, oldest = _family(SPOOL_WEBHOOKS), _family(SPOOL_OLDEST_AGE)
    if spool is not None:
        webhooks.add_metric(("waiting",), spool.webhooks)
        webhooks.add_metric(("set_aside",), spool.set_aside)
        oldest.add_metric((), 0 if spool.oldest_us is None else max(0, now - spool.oldest_us) / SECOND)
    return [webhooks, oldest]


def read_database_metric(lag: float | None) -> PrometheusMetric:
    """Build the metric of the read database; None: there is none, or it cannot be asked."""
    metric = _family(READ_DATABASE_LAG)
    if lag is not None:
        metric.add_metric((), lag)
    return metric


def store_metrics(
    warnings: int,
    inbox: InboxCounts | None,
    silent: Mapping[tuple[str, str], int],
    now: Micros,
    outgoing: Backlog | None = None,
    erasures: Mapping[str, int] | None = None,
) -> list[PrometheusMetric]:
    """Build the metrics of the store; a part that could not be read (None) leaves its metrics without values."""
    warned, waiting, oldest = _family(STORE_WARNINGS), _family(INBOX_DELIVERIES), _family(INBOX_OLDEST_DELIVERY_AGE)
    warned.add_metric((), warnings)
    for state, count in inbox.by_state.items() if inbox else ():
        waiting.add_metric((state,), count)
        oldest.add_metric((state,), max(0, now - inbox.oldest_us.get(state, now)) / SECOND if inbox else 0)
    quiet = _family(SILENT_CONNECTIONS)
    for labels, count in sorted(silent.items()):
        quiet.add_metric(labels, count)
    erasing = _family(ERASURES_OPEN)
    for waits, count in sorted((erasures or {}).items()):
        erasing.add_metric((waits,), count)
    return [warned, waiting, oldest, quiet, erasing, *_outgoing_metrics(outgoing, now)]


def objects_metrics(counts: ObjectCounts | None, now: Micros) -> list[PrometheusMetric]:
    """Build the metrics of object storage; without values if they could not be read."""
    waiting, oldest = _family(OBJECTS_WAITING), _family(OBJECTS_OLDEST_AGE)
    if counts is not None:
        waiting.add_metric(("removal",), counts.removals)
        waiting.add_metric(("restore",), counts.wanted)
        waiting.add_metric(("erasure",), counts.erasures)
        oldest.add_metric((), 0 if counts.oldest_us is None else max(0, now - counts.oldest_us) / SECOND)
    return [waiting, oldest]


def storage_metrics(stored: StoredTotals | None) -> list[PrometheusMetric]:
    """Build the metrics of stored bytes; without values if they could not be read."""
    total, largest, over = _family(STORED_BYTES), _family(LARGEST_CLIENT_BYTES), _family(CLIENTS_OVER_STORAGE)
    if stored is not None:
        total.add_metric((), stored.total)
        largest.add_metric((), stored.largest)
        over.add_metric((str(WARNING_PERCENT),), stored.near)
        over.add_metric(("100",), stored.over)
    return [total, largest, over]


def _outgoing_metrics(backlog: Backlog | None, now: Micros) -> list[PrometheusMetric]:
    waiting, oldest, endpoints = _family(WEBHOOKS_WAITING), _family(WEBHOOKS_OLDEST_AGE), _family(WEBHOOK_ENDPOINTS)
    if backlog is not None:
        waiting.add_metric((), backlog.waiting)
        oldest.add_metric((), 0 if backlog.oldest_us is None else max(0, now - backlog.oldest_us) / SECOND)
        for state, count in sorted({**backlog.endpoints, "failing": backlog.failing}.items()):
            endpoints.add_metric((state,), count)
    return [waiting, oldest, endpoints]


def _family(metric: Reading[*tuple[str, ...]]) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.text, labels=metric.labels)
