"""The dependencies of the web application, which `app.py` provides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from touchbase.adapters.interface import ProtocolResponse, WebhookRequest
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.sessions import Sessions
from touchbase.common.timestamps import DAY, Clock, Micros
from touchbase.common.token_bucket import BoundedCache, TokenBucket
from touchbase.config import Settings
from touchbase.connections.models import SECRETS, Arrival, Connection, ConnectionSettings
from touchbase.connections.service import Connections
from touchbase.connections.tools import Fetcher, Tools
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import UnrecognisedPayload
from touchbase.event_log.feed import Feed
from touchbase.history.events import Translation
from touchbase.imports.preview import Previews
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.inbox.worker import Read
from touchbase.metrics import Metrics, NoMetrics
from touchbase.outgoing.http_client import Answer
from touchbase.outgoing.models import NOWHERE, TESTS_A_MINUTE, Installation
from touchbase.rate_limit.rate_limiter import RateLimiter
from touchbase.sandbox.pool import Sandbox
from touchbase.spool.spool import Spool
from touchbase.tracing.interface import Tracing

MIB = 1_048_576
_DEFAULTS = Settings()

AuthMode = Literal["none", "api-key", "operator"]
"""Who may send requests: anyone; holders of keys; only this process itself, without a key, as an administrator."""


@dataclass(frozen=True, slots=True)
class Limits:
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
    """Of a client without a limit of its own; 0: no limit."""
    file_seconds: float = _DEFAULTS.import_timeout
    """From the first byte of an imported file to its last."""
    nesting: int = 64
    drained_bytes: int = 32 * MIB
    """Bytes of a too long body that are still read and discarded, so that the sender sees the response."""


class NoTools:
    """An empty set of tools: none can be connected, and none verifies a webhook."""

    def tools(self, channel: str) -> Sequence[str]:
        """Return no tools."""
        return ()

    def verify_signature_quickly(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return False."""
        return False

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """Return None: no tool has records."""
        return None

    def verify_signature(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return False."""
        return False

    def is_test_webhook(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return False: no tool sends test webhooks."""
        return False

    def guess_tool(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """Recognise no tool."""
        return None, False

    def secrets_of(self, connection: Connection) -> Sequence[str]:
        """Return the connection's secrets unchanged."""
        return connection.secrets

    def most_secrets(self, channel: str, tool: str) -> int:
        """Return the limit of any connection."""
        return SECRETS

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """Accept any secret."""
        return None

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Return False: no secret is a public key."""
        return False

    def has_window(self, channel: str, tool: str) -> bool:
        """Return False: no tool signs webhooks."""
        return False

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """Return None: no tool has an API."""
        return None


def no_adapter(request: WebhookRequest) -> Translation:
    """Raise `UnrecognisedPayload`: there are no adapters."""
    raise UnrecognisedPayload("there is no adapter for it")


def no_answer(body: bytes) -> ProtocolResponse | None:
    """Return None: no tool requires a response body."""
    return None


def no_worker(client: int) -> None:
    """Wake no worker."""


def no_maintenance() -> None:
    """Wake no maintenance task."""


async def no_sender(url: str, headers: dict[str, str], body: bytes) -> Answer:
    """Send nothing."""
    return Answer(0, failure="unreachable", error="this process sends no webhooks")


def new_sandbox() -> Sandbox:
    """Return the sandbox of a server's requests and jobs; translations have one of their own."""
    return Sandbox("sandbox", processes=2)


def _test_buckets() -> BoundedCache[int, TokenBucket]:
    return BoundedCache(lambda _, now: TokenBucket("endpoint-tests", TESTS_A_MINUTE / 60, 60, now), TokenBucket.is_full)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The parts that the web application is built from."""

    store: ProcessingStore
    clock: Clock
    auth: AuthMode = "none"
    limits: Limits = field(default_factory=Limits)
    version: str = "0"
    on_stored: Callable[[int], None] = no_worker
    """Called with the client's number after a new delivery is stored, to wake the inbox worker."""
    sandbox: Sandbox = field(default_factory=new_sandbox)
    """Where requests have the bytes of senders parsed: HTML, redaction."""
    previews: Previews = field(default_factory=Previews)
    """Reads uploaded files."""
    read: Read = no_adapter
    """Translates a webhook with the adapters, for dry runs and erasure."""
    senders: Tools = field(default_factory=NoTools)
    connections: Connections | None = None
    """Shared with the inbox worker, so that it sees a change at once; None: the application creates its own."""
    public_url: str = ""
    """The server's public address, without a slash at its end; empty: the request's Host header."""
    fetch_allowed: Sequence[str] = ()
    """Origins from which records may be fetched although they are not public or not https."""
    protocol_answer: Callable[[bytes], ProtocolResponse | None] = no_answer
    """The response body that a CRM's protocol requires, or None. Must be quick, and must not raise."""
    metrics: Metrics = field(default_factory=NoMetrics)
    key_uses: KeyUsage = field(default_factory=KeyUsage)
    """Collects the last use of keys, which `Maintenance` stores."""
    on_deleting: Callable[[], None] = no_maintenance
    """Called after a client is marked for deletion, to wake `Maintenance`."""
    on_job: Callable[[], None] = no_maintenance
    """Called after a job is ready to run, to wake the worker of jobs."""
    on_endpoint: Callable[[], None] = no_maintenance
    """Called after an endpoint of outgoing webhooks has changed, to wake the dispatcher."""
    send_webhook: Callable[[str, dict[str, str], bytes], Awaitable[Answer]] = no_sender
    """Sends a request to an endpoint, for tests of endpoints."""
    endpoint_tests: BoundedCache[int, TokenBucket] = field(default_factory=_test_buckets)
    """Tests and previews of endpoints, by client."""
    webhook_allowed: Sequence[str] = ()
    """Origins to which webhooks may be sent although they are not public or not https."""
    installation: Installation = NOWHERE
    """What the operator sets for messages to people."""
    keep_job_files_us: Micros = _DEFAULTS.keep_job_files_days * DAY
    """How long the files of a job are stored."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Rate limits of clients and keys."""
    failed_keys: KeyThrottle = field(default_factory=KeyThrottle)
    sessions: Sessions = field(default_factory=Sessions)
    """Makes and checks the sessions of the console."""
    refused: RefusedWebhooks | None = None
    """Collects refused webhooks, which `Maintenance` stores; None: they are only counted."""
    failed_calls: WebhookThrottle = field(default_factory=WebhookThrottle)
    feed: Feed | None = None
    """The requests that wait for events; None: the application creates its own."""
    spool: Spool | None = None
    """Where webhooks are stored while their store cannot be used; None: they are refused."""
    cell_of_name: Callable[[str], int] = lambda client_id: 0
    """Returns the cell of a client by its id, as far as this process knows."""
    tracing: Tracing | None = None
    """Makes spans; None: off."""

    def reached_at(self, path: str) -> bytes:
        """Return a path with the prefix of `public_url`, under which a proxy may serve the application."""
        return (urlsplit(self.public_url).path + path).encode()
