"""Dependencies of handlers in all rooms; `web.py` provides them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.last_used import KeyUsage
from touchbase.common.timestamps import DAY, Clock, Micros
from touchbase.config import Settings
from touchbase.http.page_turns import PageTurns
from touchbase.metrics import Metrics, NoMetrics
from touchbase.rate_limit.rate_limiter import RateLimiter
from touchbase.sandbox.pool import Sandbox
from touchbase.spool.spool import Spool
from touchbase.sql.operation import Command
from touchbase.sql.store import Store
from touchbase.tracing.interface import Tracing

MIB = 1_048_576
_DEFAULTS = Settings()

T = TypeVar("T")


class AppKey(Generic[T]):
    """Names a part of the application that only some rooms use: `call.api[KEY]` is the part. The assembly (`web.py`) has its value."""


WRITE_BATCH: AppKey[Callable[..., Command[list[object]]]] = AppKey()
JOIN: AppKey[Callable[..., Command[Any]]] = AppKey()
"""Makes the contacts that a refused upsert names one, and executes it."""
"""The operation that executes commands of one client in their order (`merging/sql/write_batch.py`): rooms below it try theirs by it."""
AuthMode = Literal["none", "api-key", "operator"]
"""Who may send requests: anyone; holders of keys; only this process itself, without a key, as an administrator."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a request. Defaults of settings are in `config.py`. `common/field_limits.py` has the limits of single fields."""

    api_body_bytes: int = _DEFAULTS.max_api_body_bytes
    """As sent, and again after gzip is decompressed."""
    batch_body_bytes: int = _DEFAULTS.max_batch_body_bytes
    """The same, of a request with many records."""
    page_bytes: int = _DEFAULTS.page_bytes
    """Of the items of a page of a list."""
    webhook_body_bytes: int = _DEFAULTS.max_webhook_body_bytes
    body_seconds: float = _DEFAULTS.body_timeout
    """From the first byte of the body to its last."""
    body_idle_seconds: float = _DEFAULTS.body_idle_timeout
    """Between two pieces of the body."""
    file_bytes: int = _DEFAULTS.max_import_bytes
    """Of an imported file."""
    import_previews: int = _DEFAULTS.max_import_previews
    """Imports of one client that wait for their start; 0: no limit."""
    stored_bytes: int = _DEFAULTS.max_stored_bytes
    """Default for clients; 0: no limit."""
    file_seconds: float = _DEFAULTS.import_timeout
    """From the first byte of an imported file to its last."""
    nesting: int = 64
    drained_bytes: int = 32 * MIB
    """Bytes of a too long body that are still read and discarded, so that the sender sees the response."""


def no_worker(client: int) -> None:
    """Wake no worker."""


def no_maintenance() -> None:
    """Wake no maintenance task."""


def new_sandbox() -> Sandbox:
    """Return the sandbox of a server's requests and jobs; translations have a second one."""
    return Sandbox("sandbox", processes=2)


@dataclass(frozen=True, slots=True)
class HttpDependencies:
    """The parts that every handler may use; parts of single rooms are found by an `AppKey`."""

    store: Store
    clock: Clock
    auth: AuthMode = "none"
    limits: RequestLimits = field(default_factory=RequestLimits)
    version: str = "0"
    on_stored: Callable[[int], None] = no_worker
    """Called with the client's number after a new delivery is stored, to wake the inbox worker."""
    sandbox: Sandbox = field(default_factory=new_sandbox)
    """Where requests have the bytes of senders parsed: HTML, redaction."""
    public_url: str = ""
    """The server's public address, without a slash at its end; empty: the request's Host header."""
    metrics: Metrics = field(default_factory=NoMetrics)
    key_uses: KeyUsage = field(default_factory=KeyUsage)
    """Collects the last use of keys, which `Maintenance` stores."""
    on_deleting: Callable[[], None] = no_maintenance
    """Called after a client is marked for deletion, to wake `Maintenance`."""
    on_job: Callable[[], None] = no_maintenance
    """Called after a job is ready to run, to wake the worker of jobs."""
    on_endpoint: Callable[[], None] = no_maintenance
    """Called after an endpoint of outgoing webhooks has changed, to wake the dispatcher."""
    keep_job_files_us: Micros = _DEFAULTS.keep_job_files_days * DAY
    """How long the files of a job are stored."""
    keep_events_us: Micros = _DEFAULTS.keep_events_days * DAY
    """How long the log of events is stored; 0: for ever."""
    pages: PageTurns = field(default_factory=PageTurns)
    """Pages in the making."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Rate limits of clients and keys."""
    failed_keys: KeyThrottle = field(default_factory=KeyThrottle)
    spool: Spool | None = None
    """Where webhooks are stored while their store cannot be used; None: they are refused."""
    tracing: Tracing | None = None
    """Makes spans; None: off."""
