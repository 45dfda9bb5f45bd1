"""Every metric: one definition each, and the interface through which the code counts.

`server/metrics.py` implements the interface with prometheus-client, and `docs/reference/metrics.md` is made from the definitions. To
add a metric, define it here and count it where it happens. mypy reports an undefined metric and a wrong number of label values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVarTuple

Labels = TypeVarTuple("Labels")

REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
APPLY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
"""Upper bounds of the histograms' buckets, in seconds."""


@dataclass(frozen=True, eq=False)
class Metric(Generic[*Labels]):
    """A metric's name, its description, and the names of its labels."""

    name: str
    text: str
    labels: tuple[*Labels]


class Counter(Metric[*Labels]):
    """A number that only increases while the process runs."""


class Gauge(Metric[()]):
    """A number that each process sets about once a second; `/metrics` has the sum of all processes."""


class Reading(Metric[*Labels]):
    """A gauge that is read for each request to `/metrics`, for example from the store."""


@dataclass(frozen=True, eq=False)
class Histogram(Metric[*Labels]):
    """Counts of durations in seconds, by bucket."""

    buckets: tuple[float, ...]


BUILD_INFO = Reading("touchbase_build_info", "1, with the version that runs.", ("version",))
HTTP_REQUEST_DURATION = Histogram(
    "touchbase_http_request_duration_seconds",
    "Time from the end of a request's headers to the end of its response. The route is the path's template, or `unmatched`; the method is"
    " `other` for one that no route has; the status is 499 if the HTTP client disconnected before the response.",
    ("route", "method", "status"),
    REQUEST_BUCKETS,
)
HTTP_PROBLEMS = Counter("touchbase_http_problems_total", "Responses with a problem body, by its code.", ("code",))
HTTP_CONNECTIONS = Gauge("touchbase_http_connections", "Open connections.", ())
HTTP_REQUESTS_IN_PROGRESS = Gauge("touchbase_http_requests_in_progress", "Requests in progress.", ())
DELIVERIES_RECEIVED = Counter(
    "touchbase_deliveries_received_total",
    "Webhooks that are stored (`stored`), and repeats of stored ones (`repeated`).",
    ("channel", "outcome"),
)
SPOOLED = Counter(
    "touchbase_webhooks_spooled_total", "Webhooks that were stored in the local spool, because their store could not be used.", ()
)
SPOOL_WEBHOOKS = Reading(
    "touchbase_spool_webhooks",
    "Webhooks in the local spool: `waiting` for their store, and `set_aside` because an error keeps them from being received.",
    ("state",),
)
SPOOL_OLDEST_AGE = Reading("touchbase_spool_oldest_webhook_age_seconds", "How long the oldest waiting one is there; 0 without any.", ())
DELIVERIES_REFUSED = Counter(
    "touchbase_deliveries_refused_total",
    "Webhooks that were refused; no body was stored. The tool is guessed from the content, or empty.",
    ("channel", "tool", "cause"),
)
DELIVERIES_PROCESSED = Counter(
    "touchbase_deliveries_processed_total",
    "Deliveries processed, by their new state: `applied`, `ignored`, `parked`, `unrecognised`, `failed`. The tool is empty if none was"
    " recognised. A replay counts again.",
    ("channel", "tool", "outcome"),
)
DELIVERY_APPLY_DELAY = Histogram(
    "touchbase_delivery_apply_delay_seconds",
    "Time from the receipt or replay of a delivery until it is applied, including the time for which its client was suspended.",
    (),
    APPLY_BUCKETS,
)
DELIVERY_PROBLEMS = Counter("touchbase_delivery_problems_total", "Deliveries that were applied with a problem, by its code.", ("code",))
RECORDS_CREATED = Counter("touchbase_records_created_total", "Contacts and companies created by deliveries.", ())
FETCH_CALLS = Counter(
    "touchbase_fetch_calls_total",
    "Requests to the APIs of tools: `records`, `gone`, `limited`, `failed` or `stopped`.",
    ("tool", "outcome"),
)
RECORDS_FETCHED = Counter("touchbase_records_fetched_total", "Records received from the APIs of tools.", ("tool",))
INBOX_DELIVERIES = Reading("touchbase_inbox_deliveries", "Deliveries in states that may still change, of the whole store.", ("state",))
INBOX_OLDEST_DELIVERY_AGE = Reading(
    "touchbase_inbox_oldest_delivery_age_seconds",
    "Age of the oldest delivery in this state since its receipt or replay; 0 without any. Deliveries of suspended clients do not count.",
    ("state",),
)
SILENT_CONNECTIONS = Reading(
    "touchbase_silent_connections",
    "Connections whose usual calls do not come, by channel and tool; not counting suspended clients'. `touchbase doctor` names them.",
    ("channel", "tool"),
)
OBJECTS_WAITING = Reading(
    "touchbase_objects_waiting",
    "What waits for object storage: `removal` of objects that no delivery names any more, `restore` of bodies for a replay, `erasure` of "
    "records in files of events.",
    ("work",),
)
OBJECTS_OLDEST_AGE = Reading(
    "touchbase_objects_oldest_removal_age_seconds", "How long the oldest such removal or erasure waits; 0 without any.", ()
)
ERASURES_OPEN = Reading(
    "touchbase_erasures_open",
    "Erasures that are not done: `searching`, or `cleaning` while the person's bytes may still be in the store's files, "
    "`confirmation` where a CRM asked for it and a person has to confirm.",
    ("waits",),
)
WEBHOOK_ATTEMPTS = Counter(
    "touchbase_webhook_attempts_total",
    "Requests to endpoints of outgoing webhooks: `delivered`, `refused` (no 2xx), `timeout`, `unreachable`, `skipped` (nothing to write).",
    ("outcome",),
)
WEBHOOK_ATTEMPT_DURATION = Histogram(
    "touchbase_webhook_attempt_duration_seconds",
    "Time from the start of a request to an endpoint to the end of its response or its failure.",
    (),
    REQUEST_BUCKETS,
)
WEBHOOKS_WAITING = Reading(
    "touchbase_webhooks_waiting",
    "Events that endpoints will be sent, of the whole store; ones that types or filters leave out do not count.",
    (),
)
WEBHOOKS_OLDEST_AGE = Reading("touchbase_webhooks_oldest_age_seconds", "How long the oldest of these has waited; 0 without any.", ())
WEBHOOK_ENDPOINTS = Reading(
    "touchbase_webhook_endpoints",
    "Endpoints by state: `active`, `paused`, `disabled`, and `failing` for active ones that fail.",
    ("state",),
)
STORED_BYTES = Reading("touchbase_stored_bytes", "Stored bytes of all clients together, each at its last count, some minutes ago.", ())
LARGEST_CLIENT_BYTES = Reading("touchbase_largest_client_stored_bytes", "Bytes that the client with the most stores.", ())
CLIENTS_OVER_STORAGE = Reading(
    "touchbase_clients_over_storage_percent",
    "Clients that store more than this part of their limit, in percent: `80`, `100`. `touchbase doctor` names them.",
    ("percent",),
)
STORE_QUEUE_DEPTH = Gauge("touchbase_store_queue_depth", "Commands waiting for a transaction.", ())
READ_DATABASE_LAG = Reading(
    "touchbase_read_database_lag_seconds",
    "How old the data of the read database is; no value without one, or while it cannot be asked.",
    (),
)
STORE_WARNINGS = Reading("touchbase_store_warnings", "Warnings about the store; the log and `GET /admin/v1/status` have their texts.", ())
LOG_LINES_DROPPED = Counter("touchbase_log_lines_dropped_total", "Log lines dropped because standard error was not read fast enough.", ())

METRICS = [metric for metric in list(globals().values()) if isinstance(metric, Metric)]
"""All metrics, in the order above."""


class Metrics(Protocol):
    """Counts and measures. Fast: some requests call it three times."""

    def count(self, metric: Counter[*Labels], *labels: *Labels, amount: int = 1) -> None:
        """Increase a counter by `amount`, for these values of its labels."""
        ...

    def observe(self, metric: Histogram[*Labels], seconds: float, *labels: *Labels) -> None:
        """Add a duration to a histogram, for these values of its labels."""
        ...

    def set(self, metric: Gauge, value: int) -> None:
        """Set a gauge of this process."""
        ...


class NoMetrics:
    """Metrics that count nothing."""

    def count(self, metric: Counter[*Labels], *labels: *Labels, amount: int = 1) -> None:
        """Do nothing."""

    def observe(self, metric: Histogram[*Labels], seconds: float, *labels: *Labels) -> None:
        """Do nothing."""

    def set(self, metric: Gauge, value: int) -> None:
        """Do nothing."""
