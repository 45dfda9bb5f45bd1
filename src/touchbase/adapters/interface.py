"""The interface of an adapter: the webhook that it reads, and the response that its protocol may require."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchbase.connections.models import NO_SETTINGS, Connection, ConnectionSettings
from touchbase.history.events import Event


@dataclass(slots=True)
class WebhookRequest:
    """One received webhook. Header names are lower case; `body` is after content decoding."""

    channel: str
    headers: Mapping[str, str]
    query: str
    body: bytes
    tool: str | None = None
    """The tool whose signature was verified, or which the request names."""
    connections: Sequence[Connection] = ()
    """The client's connections."""
    rejected_tools: frozenset[str] = frozenset()
    """Tools that must not read this webhook: they have a secret, and the webhook's signature did not match it."""


@dataclass(frozen=True, slots=True)
class ProtocolResponse:
    """The body that a tool's protocol requires in the 200 response.

    `stored_body` is the webhook body to store instead of the original, if the original contains a secret (a live login); else None.
    """

    content_type: str
    body: bytes
    stored_body: bytes | None = None


class Adapter(Protocol):
    """Reads one tool's webhooks. Each tool's folder in `adapters/` has one.

    An adapter may also declare signature schemes (`signature_schemes`) and required response bodies (`protocol_bodies`); see
    `adapters/kit/signatures.py` and `adapters/registry.py`.
    """

    tool: str
    """The tool's name in our vocabulary, as in `email_campaign/<tool>/`."""
    channel: str
    detection_keys: frozenset[str]
    """Keys of a body's first object, or header names; every webhook of the tool has at least one of them.

    Empty: the adapter is always a candidate.
    """

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence that this webhook is the tool's: 0 (no) to 100 (certain). The adapter with the highest confidence wins."""
        ...

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return the webhook's events. An unreadable item gives an `unknown` event, never an exception."""
        ...


@dataclass(slots=True)
class ParsedWebhook:
    """A webhook with its body parsed once: the input of an adapter.

    `data` is the parsed body: a dict, a list, or None if it is neither JSON nor a form nor XML; `form` is true for form fields.
    Header names are lower case.
    """

    request: WebhookRequest
    headers: Mapping[str, str]
    data: object
    form: bool = False
    settings: ConnectionSettings = NO_SETTINGS
    """The client's settings for the tool that reads the webhook."""
    subjects: dict[int, tuple[object, list[Any]]] = field(default_factory=dict, compare=False, repr=False)
    """Cache of the results of `recognise` for a body, by `id(body)`; the body is stored with it, so that its id is not reused."""
    ignored: list[str] = field(default_factory=list, compare=False, repr=False)
    """The objects of this webhook that the client ignores."""
