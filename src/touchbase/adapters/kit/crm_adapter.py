"""The frame of a CRM adapter: which objects of a call are its items, and that one bad item never loses the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from touchbase.adapters.interface import Call, ProtocolAnswer
from touchbase.adapters.kit.crm import COMPANY, CONTACT, note
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.signatures import Scheme
from touchbase.connections.fetch_state import FETCHED, kind_and_word
from touchbase.connections.models import CRM, ConnectionSettings
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

Body = dict[str, object]
StatusNames = Callable[[str, str | None], tuple[str, ...]]
"""From our kind of a record and the CRM's word for it to the properties that are its status."""


class CrmAdapter(ABC):
    """Reads the calls of one CRM, a body at a time. A list of bodies (some CRMs, most relays) is read one by one."""

    tool: str
    channel = CRM
    signs: frozenset[str] = frozenset()
    status: ClassVar[Mapping[str, tuple[str, ...]] | tuple[str, ...]] = ()
    """The properties that usually are the status: for every kind of record, or by the CRM's word for it."""
    words: ClassVar[tuple[str, ...]] = ()
    """The CRM's own words for the kinds of records that it tells of."""
    proofs: ClassVar[tuple[Scheme, ...]] = ()
    demands: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolAnswer | None]]] = {}
    fetcher: ClassVar[Fetcher | None] = None
    """How the CRM is asked for records that its calls leave out; None: it never is."""

    def recognise(self, call: Call) -> int:
        """How sure we are that the call is this CRM's, judged by the surest of its first objects."""
        if self._fetched_type(call) is not None:
            return 100
        # Without a loop where there is nothing to loop over: most calls are one object.
        if isinstance(call.data, dict):
            return self.sure(call.data, call)
        return max((self.sure(body, call) for body in objects(call.data)), default=0)

    def translate(self, call: Call) -> list[Event]:
        """The events of all items, in their order; what is no object gives `unrecognised`."""
        data = call.data
        if isinstance(data, dict):
            object_type = self._fetched_type(call)
            return self.read(data, call) if object_type is None else self.fetched(data, *kind_and_word(object_type), call)
        if not isinstance(data, list):
            return [note("unrecognised")]
        events: list[Event] = []
        for item in data:
            events += self.read(item, call) if isinstance(item, dict) else [note("unrecognised")]
        return events

    def kinds(self, objects: Mapping[str, str]) -> Sequence[str]:
        """The kinds of records whose status a client may choose, with what it says of the CRM's `objects`."""
        return tuple(dict.fromkeys((CONTACT, COMPANY, *self.words)))

    def statuses(self, call: Call, kind: str, word: str | None) -> tuple[str, ...]:
        """The properties that are the status of this kind of record: the one that the client has named, else the usual ones."""
        return statuses_of(self.status, call.settings, kind, word)

    def fetched(self, body: Body, kind: str, word: str, call: Call) -> list[Event]:
        """The events of one record that we have asked for: its kind in our words, and the CRM's word for it."""
        return [note("unrecognised")]

    def _fetched_type(self, call: Call) -> str | None:
        """The type of the object whose record this is, if it is one that we have fetched ourselves."""
        return call.headers.get(FETCHED) if self.fetcher is not None and call.request.tool == self.tool else None

    @abstractmethod
    def sure(self, body: Body, call: Call) -> int:
        """How sure we are of one body: 0 to 100."""

    @abstractmethod
    def read(self, body: Body, call: Call) -> list[Event]:
        """The events of one body; never raises, whatever the body holds."""


def statuses_of(
    usual: Mapping[str, tuple[str, ...]] | tuple[str, ...], settings: ConnectionSettings, kind: str, word: str | None
) -> tuple[str, ...]:
    """The properties that are the status of a kind of record: the one that the client has named, else the usual ones."""
    chosen = settings.status_property
    for name in (word, kind):
        if name is not None and name in chosen:
            own = chosen[name]
            return () if own is None else (own,)
    return usual if isinstance(usual, tuple) else usual.get(word or kind, usual.get(kind, ()))


def kind_chosen(call: Call, external: str | None) -> str | None:
    """What the client says an object, board or type of object holds: contact, company or ignore; None when it says nothing."""
    return call.settings.objects.get(external) if external is not None else None
