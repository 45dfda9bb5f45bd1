"""The text of `/metrics`: the values of all server processes, in the requested format.

With several processes, each stores its values in files of a folder that their parent created, and the process that
serves `/metrics` sums them (https://prometheus.github.io/client_python/multiprocess/).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from touchbase.clients.stored_bytes import WARNING_PERCENT, StoredTotals
from touchbase.common.timestamps import SECOND, Micros
from touchbase.inbox.queries import InboxCounts
from touchbase.metrics import (
    BUILD_INFO,
    CLIENTS_OVER_STORAGE,
    ERASURES_OPEN,
    INBOX_DELIVERIES,
    INBOX_OLDEST_DELIVERY_AGE,
    LARGEST_CLIENT_BYTES,
    SILENT_CONNECTIONS,
    SPOOL_OLDEST_AGE,
    SPOOL_WEBHOOKS,
    STORE_WARNINGS,
    STORED_BYTES,
    WEBHOOK_ENDPOINTS,
    WEBHOOKS_OLDEST_AGE,
    WEBHOOKS_WAITING,
    Reading,
)
from touchbase.outgoing.models import Backlog
from touchbase.server.metrics import ProcessMetrics, count_in_files
from touchbase.spool.counting import SpoolCounts

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

    def text(self, accept: str, store: Iterable[Metric]) -> tuple[str, bytes]:
        """Return content type and body for this `Accept` header; `store`: the metrics read from the store."""
        build = _family(BUILD_INFO)
        build.add_metric((self._version,), 1)
        page = _Page([build, *self._counted(), *store, *self._processes()])
        try:
            encode, content_type = choose_encoder(accept)
        except TypeError:  # the version in the header is not a number
            encode, content_type = choose_encoder("")
        return content_type, encode(page)

    def _counted(self) -> list[Metric]:
        own = list(self._metrics.registry.collect())
        if self._shared is None:
            return own
        total = {each.name: each for each in _summed(self._shared.folder)}
        return [total.get(each.name) or Metric(each.name, each.documentation, each.type) for each in own]

    def _processes(self) -> Iterable[Metric]:
        total: dict[str, Metric] = {}
        for pid in ["self"] if self._shared is None else self._shared.pids():
            for each in ProcessCollector(pid=partial(str, pid), registry=None).collect():
                known = total.setdefault(each.name, each)
                if known is not each:
                    (one,), (other,) = known.samples, each.samples
                    value = max(one.value, other.value) if each.name == NEWEST else one.value + other.value
                    known.samples = [one._replace(value=value)]
        return total.values()


def _summed(folder: Path) -> Iterable[Metric]:
    """Return the summed values of all processes. A file that a process has just created is empty, and is skipped."""
    metrics: Iterable[Metric] = MultiProcessCollector.merge([str(file) for file in folder.glob("*.db") if _has_values(file)])
    return metrics


def _has_values(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


class _Page(CollectorRegistry):
    """Collected metrics, in the form that the library's encoders accept."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self._metrics


def spool_metrics(spool: SpoolCounts | None, now: Micros) -> list[Metric]:
    """Build the metrics of the spool; without one they have no values."""
    webhooks, oldest = _family(SPOOL_WEBHOOKS), _family(SPOOL_OLDEST_AGE)
    if spool is not None:
        webhooks.add_metric(("waiting",), spool.webhooks)
        webhooks.add_metric(("set_aside",), spool.set_aside)
        oldest.add_metric((), 0 if spool.oldest_us is None else max(0, now - spool.oldest_us) / SECOND)
    return [webhooks, oldest]


def store_metrics(
    warnings: int,
    inbox: InboxCounts | None,
    silent: Mapping[tuple[str, str], int],
    now: Micros,
    outgoing: Backlog | None = None,
    erasures: Mapping[str, int] | None = None,
) -> list[Metric]:
    """Build the metrics of the store; what could not be read (None) leaves its metrics without values."""
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


def storage_metrics(stored: StoredTotals | None) -> list[Metric]:
    """Build the metrics of stored bytes; without values if they could not be read."""
    total, largest, over = _family(STORED_BYTES), _family(LARGEST_CLIENT_BYTES), _family(CLIENTS_OVER_STORAGE)
    if stored is not None:
        total.add_metric((), stored.total)
        largest.add_metric((), stored.largest)
        over.add_metric((str(WARNING_PERCENT),), stored.near)
        over.add_metric(("100",), stored.over)
    return [total, largest, over]


def _outgoing_metrics(found: Backlog | None, now: Micros) -> list[Metric]:
    waiting, oldest, endpoints = _family(WEBHOOKS_WAITING), _family(WEBHOOKS_OLDEST_AGE), _family(WEBHOOK_ENDPOINTS)
    if found is not None:
        waiting.add_metric((), found.waiting)
        oldest.add_metric((), 0 if found.oldest_us is None else max(0, now - found.oldest_us) / SECOND)
        for state, count in sorted({**found.endpoints, "failing": found.failing}.items()):
            endpoints.add_metric((state,), count)
    return [waiting, oldest, endpoints]


def _family(metric: Reading[*tuple[str, ...]]) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.text, labels=metric.labels)
