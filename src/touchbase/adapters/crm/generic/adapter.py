"""Any other CRM: the obvious reading of a body that no adapter knows.

An event's name that holds a word for what happened and one for whom (`contact.created`, `LeadUpdated`), and
a record with an id, an e-mail or a domain. A flat body with an e-mail, as relays are told to post it, is
"here is the contact". `?event=contact.updated` behind the address helps where the body names nothing. A list of
records below one key counts record by record, and what goes with a record inside it is not the record (`record.py`);
names in capitals and flattened ones (`contact__email`) are read like the usual ones (`shapes.py`). Where that does
not do, a connection says where things stand (`mapped.py`).
"""

from __future__ import annotations

from itertools import repeat
from typing import ClassVar, NamedTuple

from touchbase.adapters.crm.generic.mapped import read_mapped
from touchbase.adapters.crm.generic.record import record_of
from touchbase.adapters.crm.generic.shapes import (
    CREATION_KEYS,
    EVENT_KEYS,
    HOST_KEYS,
    ID_KEYS,
    MAIL_KEYS,
    NEW_STATUS_KEYS,
    OBJECT_KEYS,
    OWN_ID_KEYS,
    SHAPES,
    STATUS_KEYS,
    TIME_KEYS,
    bodies,
    usual,
    with_company,
)  # fmt: skip
from touchbase.adapters.crm.generic.words import RESTORED, naming_of, noun_in, word_of, words_of
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import CONTACT, CREATED, UPDATED, Item
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import first_of, host, in_query, mail
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import moment
from touchbase.history.events import Event


class Told(NamedTuple):
    """What one body is about: what happened to which record."""

    body: Body
    record: Body
    what: str
    kind: str
    object_type: str
    object_id: str | None
    source: str | None
    words: tuple[str, ...]


class Generic(CrmAdapter):
    """Reads what other CRMs and relays send, where it is plain enough."""

    tool = "generic"
    words = ("lead",)
    # Asked last, and about whatever no other is sure of: names come in capitals and flattened, too.
    signs = frozenset[str]()
    status: ClassVar[tuple[str, ...]] = STATUS_KEYS

    def sure(self, body: Body, call: Call) -> int:
        """Little, so that any adapter that knows the tool comes first; nothing where there is nothing to say."""
        if call.settings.fields:
            return 0 if read_mapped(body, call)[0].event == "unrecognised" else 60
        found = _found(body, call)
        if not found:
            return 0
        return 20 if found[0].source else 10

    def read(self, body: Body, call: Call) -> list[Event]:
        """The body as one event, or nothing; by the client's own map of it, where there is one."""
        if call.settings.fields:
            return read_mapped(body, call)
        return [event for told in _found(body, call) for event in self._item(told, call).events()]

    def translate(self, call: Call) -> list[Event]:
        """As any CRM's, but without a client's own map what is no object tells nothing at all."""
        events = super().translate(call)
        return events if call.settings.fields else [event for event in events if event.source_event or event.event != "unrecognised"]

    def _item(self, told: Told, call: Call) -> Item:
        body, record, kind = told.body, told.record, told.kind
        # Beside the record `created_at` tells of the event, in the record of the record.
        of_record = [key for key in TIME_KEYS if told.what == CREATED or key not in CREATION_KEYS]
        at = moment(body, *TIME_KEYS) or (moment(record, *of_record) if record is not body else None)
        item = Item(SHAPES[kind], told.what, told.object_type, told.object_id, told.source, at, restored=RESTORED in told.words)
        item.record = with_company(with_linkedin(record)) if kind == CONTACT else dict(record)
        item.status = self.statuses(call, kind, told.object_type)
        if item.status == self.status:
            changed = [key for word in told.words for key in NEW_STATUS_KEYS.get(word, ())]
            item.record |= {key: body[key] for key in changed if key in body and key not in item.record}
            # Beside the record a bare `status` mostly tells how the relay fared.
            item.status = (*changed, *self.status, "status") if record is not body else (*changed, *self.status)
        return item


def _found(body: Body, call: Call) -> list[Told]:
    """What a body's records are about. Looked for once: whoever is asked whether a call is theirs may have to tell it next."""
    known = call.found.get(id(body))
    if known is None:
        found = [told for told in map(_told, bodies(usual(body)), repeat(call)) if told is not None]
        # The body goes with it, so that no other one gets its number.
        known = call.found[id(body)] = (body, found)
    return known[1]


def _told(body: Body, call: Call) -> Told | None:
    """What a body is about, if it is plain enough: all that recognising a call takes."""
    source = in_query(call.request.query, "event") or text(first(body, *EVENT_KEYS)) or _in_headers(call)
    word = text(first(body, *OBJECT_KEYS))
    named = naming_of(source, word)
    if named is None:
        return None
    record, key = record_of(body, named.kind)
    what, of_object = named.what, named.of_object if word else words_of(key)
    kind = named.kind or noun_in(of_object)
    known = first_of(record, MAIL_KEYS, mail) is not None
    # A contact's `company_id` is not its own, and a company's `contact_id` neither; beside the event's name `id` is as well the event's.
    own_ids = named.own_ids[kind or CONTACT]
    object_id = text(
        _stable_id(body, record)
        or first(record, *(own_ids if record is body else ()), *ID_KEYS, *own_ids, *OWN_ID_KEYS[kind or CONTACT])
        or first(body, "object_id", "record_id", *own_ids)
        # Beside the object's own word the id is the object's, elsewhere as well the event's.
        or (body.get("id") if noun_in(named.of_object) else None)
    )
    if what is None or kind is None:
        if not known or (source is not None and what is None and kind is None):
            return None
        what, kind = what or UPDATED, kind or CONTACT
    elif object_id is None and not known and first_of(record, HOST_KEYS, host) is None:
        return None
    return Told(body, record, what, kind, word_of(kind, (*named.words, *of_object)), object_id, source, named.words)


def _stable_id(body: Body, record: Body) -> object:
    """The id that stands under a name which only some have: Directus's `key` of a row, Strapi's `documentId` of an entry."""
    if "collection" in body:
        return body.get("key")
    return record.get("documentId") if isinstance(body.get("entry"), dict) else None


def _in_headers(call: Call) -> str | None:
    """The event's name where a body is the record alone: `x-…-topic`, `x-…-event`."""
    named = (
        text(value) for name, value in call.headers.items() if name.startswith("x-") and name.endswith(("-topic", "-event", "-event-type"))
    )
    return next((name for name in named if name), None)


ADAPTER = Generic()
