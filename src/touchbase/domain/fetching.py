"""Fetching: records that a CRM's thin calls only name, asked for at its API, and how that goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from touchbase.domain.times import Micros

FETCHED = "x-touchbase-fetched"
"""Header of a delivery that we have fetched ourselves: the object's type, as its link has it."""

COMPANIES = "company:"
"""What the type of an object that is a company here begins with."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object of a tool whose record is wanted; `wanted_us` tells whether it was wanted anew since."""

    object_type: str
    object_id: str
    wanted_us: Micros
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a worker may ask for, and how many calls in a row have failed before."""

    wanted: list[Wanted]
    failures: int = 0


@dataclass(slots=True)
class Fetching:
    """How asking one tool of one client for records goes."""

    tool: str
    next_us: Micros = 0
    failures: int = 0
    stopped: bool = False
    error: str | None = None
    """The last failure, in one sentence."""
    error_us: Micros | None = None
    fetched_us: Micros | None = None
    """When a record came last."""
    wanted: int = 0
    """Records still to be asked for."""
    noted: int = 0
    """Records that the tool did not have, or would not give."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one call to a tool came to: `records`, `gone`, `limited`, `failed` or `stopped`, and how many records it brought."""

    tool: str
    outcome: str
    records: int = 0


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call to a tool's API; its headers hold the access token and are never shown."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the API said; header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class NotAnswered(Exception):
    """The API could not be asked, or said nothing of use; the text tells why and holds no secret.

    `stop`: asking again helps only once somebody has changed something. `retry_after`: seconds, where the
    tool says so.
    """

    def __init__(self, why: str, *, stop: bool = False, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.stop = stop
        self.retry_after = retry_after


def kind_and_word(object_type: str) -> tuple[str, str]:
    """A link's type as what the object is here (contact, company) and the tool's own word for it."""
    if object_type.startswith(COMPANIES):
        return "company", object_type.removeprefix(COMPANIES)
    return "contact", object_type


_PORTS = {"https": 443, "http": 80}


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address; `ValueError` when it is none that may be asked (a password, a query)."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("no address of an API")
    parts.hostname.encode("idna")  # a label that is empty or too long is a `ValueError` too, here and not when it is looked up
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
