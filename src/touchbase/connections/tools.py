"""Protocols of a tool's API client and of its signature checks, implemented by the adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival, Connection, ConnectionSettings
from touchbase.connections.oauth import Grant

MAX_RESPONSE = 8 * 1024 * 1024
"""Bytes of a response of a tool's API, as sent and after decompression."""


PAGE_END = ""
"""Stands for the id of a record, of which none is empty."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request to a tool's API; its headers contain the access token and are not in the repr."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The API's response; header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class FetchFailed(Exception):
    """A request to a tool's API failed; the text gives the reason and contains no secret.

    `stop`: a retry helps only after a change of the configuration. `retry_after`: seconds, if the tool gives them.
    `unsent`: the tool has got nothing of the request.
    """

    def __init__(self, why: str, *, stop: bool = False, retry_after: float | None = None, unsent: bool = False) -> None:
        super().__init__(why)
        self.stop = stop
        self.retry_after = retry_after
        self.unsent = unsent


class TokenRefresh(Protocol):
    """How to get an access token of one tool for a refresh token. Pure, like a fetcher."""

    def request(self, base: str, grant: Grant) -> tuple[str, ApiRequest]:
        """Return the base URL and the request for an access token, for an API at `base`."""
        ...

    def token(self, response: ApiResponse) -> str:
        """Return the access token in a response. Raises `FetchFailed`, which does not quote the response."""
        ...


class Fetcher(Protocol):
    """How to fetch whole records from one tool's API. Pure: it builds requests and parses responses, and sends nothing."""

    @property
    def base(self) -> str:
        """Default base URL of the API."""
        ...

    @property
    def most(self) -> int:
        """Most records of one type in one request."""
        ...

    @property
    def pause_us(self) -> Micros:
        """Time between two requests, well within the tool's rate limit."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that the API requires."""
        ...

    @property
    def renewal(self) -> TokenRefresh | None:
        """How to get access tokens; None: the tool has long-lived ones."""
        ...

    def request(self, connection: Connection, object_type: str, ids: Sequence[str]) -> ApiRequest | None:
        """Return the request for these objects, all of one type; None when the API has no such type."""
        ...

    def follows(self, object_type: str) -> bool:
        """Return whether a type is a list of changes, which is read page by page: the id of a request is its own and `:CURSOR`."""
        ...

    def records(self, response: ApiResponse, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the records in a successful response, by id, as JSON; missing ones do not exist. Raises `FetchFailed`.

        Of a list of changes also `PAGE_END`: its next cursor, and whether more follows now.
        """
        ...


SendRequest = Callable[[str, ApiRequest], Awaitable[ApiResponse]]
"""Sends a request to the API at a base URL; raises `FetchFailed`."""


class Tools(Protocol):
    """The tools that send webhooks, as the receiver and the enrichment worker see their adapters."""

    def tools(self, channel: str) -> Sequence[str]:
        """Return the names of the channel's tools."""
        ...

    def verify_signature_quickly(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return whether a webhook proves one of the connection's secrets by a check that is quick: no parsing of the body."""
        ...

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """Return the kinds of records that `status_property` may name; None for a tool without records."""
        ...

    def verify_signature(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return whether a webhook proves one of the secrets by any of its tool's schemes; may parse the body."""
        ...

    def is_test_webhook(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Return whether a webhook is the tool's test request, which has no other proof."""
        ...

    def guess_tool(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """Return the most likely tool, and whether it is certainly none of the `guarded` ones; may parse the body."""
        ...

    def secrets_of(self, connection: Connection) -> Sequence[str]:
        """Return the connection's secrets in the form in which a webhook would contain them."""
        ...

    def most_secrets(self, channel: str, tool: str) -> int:
        """Return how many secrets a connection of this tool may have."""
        ...

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """Return the valid forms of this tool's secrets when this secret has none of them; else None."""
        ...

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Return whether a secret of this tool is a public key, which need not be redacted."""
        ...

    def has_window(self, channel: str, tool: str) -> bool:
        """Return whether the tool's signatures carry a timestamp."""
        ...

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """Return the fetcher of the tool's API; None: no records are fetched from it."""
        ...
