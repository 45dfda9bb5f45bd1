"""Generic CRM adapter: the obvious interpretation of a body that no tool's adapter reads.

Reads an event name with a verb and a noun (`contact.created`, `LeadUpdated`), and a record with an id, an email address
or a domain. A flat body with an email address, the recommended format for relays, is a contact snapshot.
`?event=contact.updated` in the webhook URL helps if the body has no event name. A list of records under one key is read
record by record; embedded related objects are not the record (`record.py`); upper-case and flattened names
(`contact__email`) are normalized (`shapes.py`). Otherwise the connection declares the paths (`mapped.py`).
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
    TABLE_KEYS,
    TABLE_NAMES,
    TIME_KEYS,
    bodies,
    usual,
    with_company,
    with_website,
)  # fmt: skip
from touchbase.adapters.crm.generic.words import (
    FORM,
    PEOPLE_ONLY,
    RESTORED,
    Naming,
    asks_erasure,
    is_about_another,
    naming_of,
    noun_in,
    verb_in,
    word_of,
    words_of,
)
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.body_shapes import split_named_members
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import display_text, email_address, first_of, host, query_parameter
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.ignored_names import reason_to_ignore
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.people import people_below, says_person
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

_ROW = "table:"
"""Before a table's id or name: the object type of its rows."""


class Subject(NamedTuple):
    """Subject of one body: the record and its change."""

    body: Body
    record: Body
    what: str
    kind: str
    object_type: str
    object_id: str | None
    source: str | None
    words: tuple[str, ...]


class GenericCrm(CrmAdapter):
    """Reads unambiguous webhooks of other CRMs and relays."""

    tool = "generic"
    words = ("lead",)
    # No signs: asked last, about every webhook, because names may be upper-case or flattened.
    detection_keys = frozenset[str]()
    status: ClassVar[tuple[str, ...]] = STATUS_KEYS

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return a low confidence, so that a tool's own adapter wins; 0 if nothing can be read."""
        if webhook.settings.fields:
            return 0 if all(event.event == "unrecognised" for event in read_mapped(body, webhook)) else 60
        subjects = _subjects(body, webhook)
        if not subjects:
            return 5 if _of_no_person(body, webhook) else 0
        return 20 if subjects[0].source else 10

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of the body, or nothing; by the client's field map, if there is one."""
        if webhook.settings.fields:
            return read_mapped(body, webhook)
        events = [event for subject in _subjects(body, webhook) for event in self._item(subject, webhook).events()]
        return events or _of_no_person(body, webhook)

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Like any CRM adapter, but without a client's field map, items that are not objects give no events."""
        events = super().translate(webhook)
        return events if webhook.settings.fields else [event for event in events if event.source_event or event.event != "unrecognised"]

    def _item(self, subject: Subject, webhook: ParsedWebhook) -> CrmItem:
        body, record, kind = subject.body, subject.record, subject.kind
        # Next to the record `created_at` is the event's time, inside the record it is the record's.
        # A deleted row still has the time of its last change.
        is_gone = subject.what == DELETED and subject.object_type.startswith(_ROW)
        of_record = [key for key in TIME_KEYS if not is_gone and (subject.what == CREATED or key not in CREATION_KEYS)]
        at = first_time(body, *TIME_KEYS) or first_time(body.get("payload"), *of_record)
        at = at or (first_time(record, *of_record) if record is not body else None)
        item = CrmItem(
            SHAPES[kind], subject.what, subject.object_type, subject.object_id, subject.source, at, restored=RESTORED in subject.words
        )
        item.asks_erasure = asks_erasure(subject.what, subject.words)
        item.record = with_company(with_linkedin(record)) if kind == CONTACT else with_website(record)
        item.status = self.statuses(webhook, kind, subject.object_type)
        if item.status == self.status:
            changed = [key for word in subject.words for key in NEW_STATUS_KEYS.get(word, ())]
            item.record |= {key: body[key] for key in changed if key in body and key not in item.record}
            # Next to the record, a bare `status` is usually the relay's own result.
            # A number is a flag or an id, and no name of a status.
            named = ("status",) if record is not body and not (display_text(record.get("status")) or "").isdecimal() else ()
            item.status = (*changed, *self.status, *named)
        return item


def _subjects(body: Body, webhook: ParsedWebhook) -> list[Subject]:
    """Return the subjects of a body's records. Cached, because `recognise` and `read` both need them."""
    cached = webhook.subjects.get(id(body))
    if cached is None:
        named = [usual(member) for member in split_named_members(body)]
        subjects = [
            subject for member in named for subject in map(_subject_of, bodies(member), repeat(webhook)) if subject is not None
        ] or [subject for member in named for subject in _people_in(member, webhook)]
        # The body is stored with the result, so that no other body gets the same id.
        cached = webhook.subjects[id(body)] = (body, subjects)
    return cached[1]


def _subject_of(body: Body, webhook: ParsedWebhook) -> Subject | None:
    """Return the subject of a body, if it is unambiguous: all that recognition needs."""
    source = _event_name(body, webhook)
    word = text(first(body, *OBJECT_KEYS))
    named = naming_of(source, word)
    if named is None:
        return None
    record, key = record_of(body, named.kind)
    what, of_object = named.what, named.of_object if word else words_of(key)
    kind = named.kind or noun_in(of_object)
    has_address = _has_address(record)
    # A contact's `company_id` is not its own id, nor a company's `contact_id`; next to the event's name, `id` may be the event's.
    own_ids = named.own_ids[kind or CONTACT]
    # An id counts only where its kind is known: a bare `id` may be a company's, an order's or the event's.
    object_id = text(first(record, *own_ids, *OWN_ID_KEYS[CONTACT])) if kind is None else _object_id(body, record, named, kind)
    if what is None or kind is None:
        is_form = FORM in named.words
        if kind is None and (table := text(first(body, *TABLE_KEYS))) is not None:
            return _row_of_table(body, record, table, named, webhook)
        if not has_address or (source is not None and what is None and kind is None and not is_form):
            return None
        what, kind, object_id = what or UPDATED, kind or CONTACT, None if is_form else object_id
    elif object_id is None and not has_address and first_of(record, HOST_KEYS, host) is None:
        return None
    return Subject(body, record, what, kind, word_of(kind, (*named.words, *of_object)), object_id, source, named.words)


def _row_of_table(body: Body, record: Body, table: str, named: Naming, webhook: ParsedWebhook) -> Subject | None:
    """Return the subject of a row of an open table, whose ids belong to the table.

    Its kind is the client's choice, else what the table's name says, else the row's columns.
    """
    kind = chosen_kind(webhook, table) or noun_in(words_of(text(first(body, *TABLE_NAMES))))
    if kind is None and _has_address(record):
        kind = CONTACT
    elif kind is None and first_of(record, HOST_KEYS, host) is not None:
        kind = COMPANY
    if kind not in SHAPES:
        return None
    source = _event_name(body, webhook)
    return Subject(body, record, named.what or UPDATED, kind, f"{_ROW}{table}", text(first(record, *ID_KEYS)), source, named.words)


def _object_id(body: Body, record: Body, named: Naming, kind: str) -> str | None:
    own_ids = named.own_ids[kind]
    return text(
        _stable_id(body, record)
        or first(record, *(own_ids if record is body else ()), *ID_KEYS, *own_ids, *OWN_ID_KEYS[kind])
        or first(body, "object_id", "record_id", *own_ids)
        # Next to the object's type the id is the object's; elsewhere it may be the event's.
        or (body.get("id") if noun_in(named.of_object) else None)
    )


def _people_in(body: Body, webhook: ParsedWebhook) -> list[Subject]:
    """Return the people of a body under a role's name, `endUserData`, if its event is about people and nothing else names one."""
    source = _event_name(body, webhook)
    words = words_of(source)
    if not words or not PEOPLE_ONLY.issuperset(words) or verb_in(words) is None:
        return []
    return [
        Subject(
            {**around, "event": source},
            usual(person),
            verb_in(words) or UPDATED,
            CONTACT,
            CONTACT,
            text(first(person, *ID_KEYS)),
            source,
            words,
        )
        for name, value in body.items()
        if says_person(name)
        for person, around in people_below({name: value}, _has_address)
    ]


def _has_address(record: Body) -> bool:
    return first_of(usual(record), MAIL_KEYS, email_address) is not None


def _event_name(body: Body, webhook: ParsedWebhook) -> str | None:
    return query_parameter(webhook.request.query, "event") or text(first(body, *EVENT_KEYS)) or _in_headers(webhook)


def _of_no_person(body: Body, webhook: ParsedWebhook) -> list[Event]:
    """Return an ignored event if the names of a body's event and object say nothing of a person; else nothing.

    A client that reads statuses from a property may read them from a group or a tag.
    """
    name = " ".join(filter(None, (text(first(body, *OBJECT_KEYS)), _event_name(body, webhook))))
    if not reason_to_ignore(name) and not is_about_another(words_of(name)):
        return []
    return [other_event("unrecognised" if webhook.settings.status_property else "ignored", name)]


def _stable_id(body: Body, record: Body) -> object:
    """Return an id under a vendor-specific name: Directus's `key` of a row, Strapi's `documentId` of an entry."""
    if "collection" in body:
        return body.get("key")
    return record.get("documentId") if isinstance(body.get("entry"), dict) else None


def _in_headers(webhook: ParsedWebhook) -> str | None:
    """Return the event name from a header, if the body is a bare record: `x-…-topic`, `x-…-event`."""
    named = (
        text(value)
        for name, value in webhook.headers.items()
        if name.startswith("x-") and name.endswith(("-topic", "-event", "-event-type"))
    )
    return next((name for name in named if name), None)


ADAPTER = GenericCrm()
