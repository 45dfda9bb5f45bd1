"""The interface of an adapter: the webhook that it reads, and the response that its protocol may demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchbase.connections.models import NO_SETTINGS, Connection, ConnectionSettings
from touchbase.history.events import Event


@dataclass(slots=True)
class WebhookRequest:
    """One webhook call as it came in. Header names are lower case; `body` is after content decoding."""

    channel: str
    headers: Mapping[str, str]
    query: str
    body: bytes
    tool: str | None = None
    """The tool that has proved to send it, or that somebody says it is of."""
    connections: Sequence[Connection] = ()
    """What its client has connected."""
    barred: frozenset[str] = frozenset()
    """Tools that it must not be read as: their secrets are set, and it has proved to know none."""


@dataclass(frozen=True, slots=True)
class ProtocolAnswer:
    """The body that a tool's protocol demands with the 200.

    `keep` is the call's body as it may be kept, where something in it must not be (a live login); else None.
    """

    content_type: str
    body: bytes
    keep: bytes | None = None


class Adapter(Protocol):
    """Reads one tool's webhook calls. A folder in `adapters/` holds one.

    It may also say how the tool proves who it is (`proofs`) and what body its protocol demands (`demands`);
    see `adapters/kit/signatures.py` and `adapters/registry.py`.
    """

    tool: str
    """The tool's name in our vocabulary, as in `email_campaign/<tool>/`."""
    channel: str
    signs: frozenset[str]
    """Keys of a body's first object, or header names, of which every call of the tool shows one; empty: always ask."""

    def recognise(self, call: Call) -> int:
        """How sure we are that this call is the tool's: 0 not at all, 100 certain. The surest adapter wins."""
        ...

    def translate(self, call: Call) -> list[Event]:
        """The call's events; an item that cannot be read gives an event `unknown`, never an exception."""
        ...


@dataclass(slots=True)
class Call:
    """A webhook call with its body parsed once: what adapters look at.

    `data` is the parsed body: a dict, a list, or None when it is neither JSON nor a form; `form` says
    that it came as form fields. Header names are lower case.
    """

    request: WebhookRequest
    headers: Mapping[str, str]
    data: object
    form: bool = False
    settings: ConnectionSettings = NO_SETTINGS
    """What the client has decided about the tool that reads it."""
    found: dict[int, tuple[object, list[Any]]] = field(default_factory=dict, compare=False, repr=False)
    """What an adapter has found in a body when it was asked whose it is, by the body's identity, beside that body."""
