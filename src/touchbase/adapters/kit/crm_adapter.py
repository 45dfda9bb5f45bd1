"""Base class of CRM adapters: splits a webhook into items and isolates errors of single items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook, ProtocolResponse
from touchbase.adapters.kit.crm import COMPANY, CONTACT, other_event
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.ignored_names import reason_to_ignore
from touchbase.adapters.kit.signatures import Scheme
from touchbase.connections.fetch_state import FETCHED, kind_and_type
from touchbase.connections.models import IGNORE, ConnectionSettings
from touchbase.connections.tools import Fetcher
from touchbase.history.events import CRM, Event

Body = dict[str, object]
StatusNames = Callable[[str, str | None], tuple[str, ...]]
"""Maps our record kind and the CRM's name for it to the status properties."""


class CrmAdapter(ABC):
    """Reads the webhooks of one CRM, body by body. A list of bodies (some CRMs, most relays) is read one by one."""

    tool: str
    channel = CRM
    detection_keys: frozenset[str] = frozenset()
    status: ClassVar[Mapping[str, tuple[str, ...]] | tuple[str, ...]] = ()
    """The default status properties: for every kind of record, or by the CRM's name of the kind."""
    words: ClassVar[tuple[str, ...]] = ()
    """The CRM's own names of the record types that are read."""
    signature_schemes: ClassVar[tuple[Scheme, ...]] = ()
    protocol_bodies: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolResponse | None]]] = {}
    fetcher: ClassVar[Fetcher | None] = None
    """Fetches records that the CRM's webhooks leave out; None if that is not supported."""

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence that the webhook is this CRM's: the highest of its first objects."""
        if self._fetched_type(webhook) is not None:
            return 100
        # Fast path without a loop: most webhooks are one object.
        if isinstance(webhook.data, dict):
            return self.confidence(webhook.data, webhook)
        return max((self.confidence(body, webhook) for body in objects(webhook.data)), default=0)

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of all items in order; an item that is not an object gives `unrecognised`."""
        data = webhook.data
        if isinstance(data, dict):
            object_type = self._fetched_type(webhook)
            if object_type is not None:
                return self.fetched(data, *kind_and_type(object_type), webhook)
            return [_is_listed(event, webhook) for event in self.read(data, webhook)]
        if not isinstance(data, list):
            return [other_event("unrecognised")]
        events: list[Event] = []
        for item in data:
            events += self.read(item, webhook) if isinstance(item, dict) else [other_event("unrecognised")]
        return [_is_listed(event, webhook) for event in events]

    def kinds(self, objects: Mapping[str, str]) -> Sequence[str]:
        """Return the record kinds for which a client may choose the status, given its `objects` setting."""
        return tuple(dict.fromkeys((CONTACT, COMPANY, *self.words)))

    def statuses(self, webhook: ParsedWebhook, kind: str, word: str | None) -> tuple[str, ...]:
        """Return the status properties of this kind of record: the client's choice, else the defaults."""
        return statuses_of(self.status, webhook.settings, kind, word)

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched record; `kind` is our name of the kind, `word` the CRM's."""
        return [other_event("unrecognised")]

    def _fetched_type(self, webhook: ParsedWebhook) -> str | None:
        """Return the object type of a fetched record; None if the webhook is not one that we fetched."""
        return webhook.headers.get(FETCHED) if self.fetcher is not None and webhook.request.tool == self.tool else None

    @abstractmethod
    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence for one body: 0 to 100."""

    @abstractmethod
    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one body; never raises, whatever the body contains."""


def _is_listed(event: Event, webhook: ParsedWebhook) -> Event:
    """Ignore an unknown event whose name is about no person, unless the client reads statuses from a property."""
    name = event.source_event
    if event.event == "unrecognised" and name and not webhook.settings.status_property and reason_to_ignore(name):
        event.event = "ignored"
    return event


def statuses_of(
    usual: Mapping[str, tuple[str, ...]] | tuple[str, ...], settings: ConnectionSettings, kind: str, word: str | None
) -> tuple[str, ...]:
    """Return the status properties of a kind of record: the client's choice, else the defaults."""
    chosen = settings.status_property
    for name in (word, kind):
        if name is not None and name in chosen:
            own = chosen[name]
            return () if own is None else (own,)
    return usual if isinstance(usual, tuple) else usual.get(word or kind, usual.get(kind, ()))


def chosen_kind(webhook: ParsedWebhook, external: str | None) -> str | None:
    """Return the client's choice for an object, board or object type: contact, company or ignore; None without one."""
    kind = webhook.settings.objects.get(external) if external is not None else None
    if kind == IGNORE and external is not None:
        webhook.ignored.append(external)
    return kind
