"""What a connection needs of its tool: its API for fetching records, and how it proves who it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival, Connection, ConnectionSettings
from touchbase.connections.oauth import Grant


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One call to a tool's API; its headers hold the access token and are never shown."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """What the API said; header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class FetchFailed(Exception):
    """The API could not be asked, or said nothing of use; the text tells why and holds no secret.

    `stop`: asking again helps only once somebody has changed something. `retry_after`: seconds, where the
    tool says so.
    """

    def __init__(self, why: str, *, stop: bool = False, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.stop = stop
        self.retry_after = retry_after


class TokenRefresh(Protocol):
    """How one tool is asked for an access token with a refresh token. Pure, like a fetcher."""

    def call(self, base: str, grant: Grant) -> tuple[str, ApiRequest]:
        """The call that asks for one, and the address that it goes to, for an API at this base address."""
        ...

    def token(self, answer: ApiResponse) -> str:
        """The access token in an answer. Raises `FetchFailed`, which never quotes the answer."""
        ...


class Fetcher(Protocol):
    """How one tool's API is asked for whole records. Pure: it makes calls and reads answers, and sends nothing."""

    @property
    def base(self) -> str:
        """The usual address of the API."""
        ...

    @property
    def most(self) -> int:
        """Records of one kind in one call."""
        ...

    @property
    def pause_us(self) -> Micros:
        """Time from one call to the next: well below the tool's limit."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of settings without which the API cannot be asked."""
        ...

    @property
    def renewal(self) -> TokenRefresh | None:
        """How it is asked for access tokens; None: a connection has one that lasts."""
        ...

    def call(self, connection: Connection, object_type: str, ids: Sequence[str]) -> ApiRequest | None:
        """The call that asks for these objects, all of one type; None when the API knows no such type."""
        ...

    def records(self, answer: ApiResponse, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The records in a good answer, by id, as JSON; those left out are not there. Raises `FetchFailed`."""
        ...


Ask = Callable[[str, ApiRequest], Awaitable[ApiResponse]]
"""Sends a call to an API at this base address; raises `FetchFailed`."""


class Tools(Protocol):
    """What is known of the tools that send us calls: the adapters, seen from the door."""

    def tools(self, channel: str) -> Sequence[str]:
        """The names of the channel's tools."""
        ...

    def proves_at_once(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call proves to know one of the connection's secrets by what is quick to check."""

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """The kinds of records that `status_property` may name for a tool; None where it has no records."""
        ...

    def proves(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """The same in every way of its tool; it may parse the body."""
        ...

    def is_test_call(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call is the tool's test call, which proves nothing else."""
        ...

    def likely(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """The tool that a call looks like, and whether it is plainly not one of the guarded ones; it may parse the body."""
        ...

    def secrets_of(self, connection: Connection) -> Sequence[str]:
        """The connection's secrets as a call would show them."""
        ...

    def most_secrets(self, channel: str, tool: str) -> int:
        """How many secrets a connection of this tool may have."""
        ...

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """The forms that a secret of this tool may have, where this one could never fit; else None."""
        ...

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Whether a secret of this tool is a public key, which proves nothing by being known."""
        ...

    def has_window(self, channel: str, tool: str) -> bool:
        """Whether the tool's signatures have a time."""
        ...

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """How the tool's API is asked for records; None: it never is."""
        ...
