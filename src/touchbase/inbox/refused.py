"""Refused webhook calls: what is stored of each, and the command and query for them. A body never is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.sql.command import Command, Query

NO_CLIENT = 0
"""Stands for the client of calls that name none that exists. No client has this number."""
MOST_STORED = 1_000
"""Refused calls stored for each client; the oldest make room."""
NOT_VERIFIED = "not_verified"
TEST_CALL = "test_call"
UNKNOWN_CLIENT = "unknown_client"
TOO_LARGE = "too_large"
FOREIGN_ORIGIN = "foreign_origin"
RATE = "rate"
CAUSES: Mapping[str, str] = {
    NOT_VERIFIED: "the call does not prove who sends it",
    TEST_CALL: "the tool's own test call, answered 200 and dropped",
    UNKNOWN_CLIENT: "the address names no client",
    TOO_LARGE: "the body exceeds a limit",
    FOREIGN_ORIGIN: "a page of another site sent it",
    RATE: "a rate limit was reached",
}
"""Each cause, and what it means."""


@dataclass(slots=True)
class RefusedWebhook:
    """One refused call, or several alike within a second; `calls` says how many."""

    client: int
    received_us: Micros
    channel: str
    cause: str
    tool: str | None = None
    """The tool that the call looks like; it proves nothing."""
    size: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    client_id: str = ""
    """The id in the address."""
    calls: int = 1
    id: int = 0
    """Given by the store."""


@dataclass(slots=True)
class NoteRefusals(Command[None]):
    """Store refused calls of one client (or of none, `NO_CLIENT`), and remove all but its newest `MOST_STORED`."""

    client: int
    refused: list[RefusedWebhook]
    most: int = MOST_STORED


@dataclass(slots=True)
class ListRefusals(Query[list[RefusedWebhook]]):
    """Refused calls, newest first; `before` is (received_us, id) of the last one of the page before."""

    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    cause: str | None = None
    before: tuple[Micros, int] | None = None
