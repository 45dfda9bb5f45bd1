"""Normalization: from translated deliveries to event subjects with checked identities in normal form, times and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from touchbase.clients.models import ClientSettings
from touchbase.common.field_limits import (
    CUSTOM_FIELD_BYTES,
    CUSTOM_FIELDS,
    EMAIL,
    EMAILS,
    MESSAGE_TEXT,
    NAME,
    STATUS,
    URL,
    VALUE,
    storable,
    within_budget,
)
from touchbase.common.frames import packs_by_position
from touchbase.common.html_text import text_of_html
from touchbase.common.normalize import find_company_domain, find_email_key, linkedin_key
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.deliveries.delivery import LOADED, LOADED_KEY, Delivery
from touchbase.errors import TouchbaseError, UnrecognisedPayload
from touchbase.history.dedupe_keys import event_key, event_time, key_of_person
from touchbase.history.events import (
    COMPANY,
    CONTACT,
    CRM,
    EXTERNAL,
    VIA_DOMAIN,
    VIA_EMAIL,
    VIA_LINK,
    VIA_LINKEDIN,
    Detail,
    Event,
    MessageContent,
    StoredEvent,
    Translation,
    effect_of,
    status_word,
)
from touchbase.history.identity_links import Ref
from touchbase.history.problems import (
    FIELDS_LEFT_OUT,
    HTML_UNREAD,
    ROWS_UNIDENTIFIED,
    STATUS_REFUSED,
    TIME_AHEAD,
    VALUE_TYPE,
    Problems,
    add_problem,
)
from touchbase.identity.event_subject import EventSubject
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.validation import misfit


def with_present_names(detail: Detail, kind: int, settings: ClientSettings) -> Detail:
    """Return the detail of an event with the present names of its custom fields; a value under the present name stays."""
    renamed = RECORD_TYPES[kind].field_names(settings)
    custom: Mapping[str, str | None] = detail.get("custom", {})
    if not renamed or renamed.keys().isdisjoint(custom):
        return detail
    named = {name: value for name, value in custom.items() if name not in renamed}
    for name, value in custom.items():
        named.setdefault(renamed.get(name, name), value)
    # The timeline shows a change that is a custom field's under that field.
    changed = [[renamed[name] if name in custom and name in renamed else name, *texts] for name, *texts in detail.get("changed", ())]
    return {**detail, "custom": named} | ({"changed": changed} if changed else {})


def note_misfits(detail: Detail, kind: int, settings: ClientSettings, problems: Problems) -> None:
    """Add a problem if a value is not of the type that the client declared; it is stored as it came."""
    declared = RECORD_TYPES[kind].field_types(settings)
    if not declared:
        return
    for name, value in detail.get("custom", {}).items():
        if value and name in declared and misfit(value, declared[name]) is not None:
            add_problem(problems, VALUE_TYPE, name)


_MAX_UNZONED_AHEAD: Micros = 120 * SECOND
"""How far a time without a zone may lie after the receipt; a longer time is in a zone other than UTC, and not a wrong clock."""
MAX_HTML = 2 * 1024 * 1024
"""Characters of HTML that are converted to text in one delivery: half a second at most."""
TEXT_PER_EVENT = 16 * 1024
"""Characters of values and messages that count as one more event where a transaction is bounded."""
FIELDS_PER_EVENT = 16
"""Custom fields that count as one more event there: each is a row."""
_FROM_TOOLS = {number: {field.name: field.longest for field in kind.members if field.from_tools} for number, kind in RECORD_TYPES.items()}
"""By kind of record, the fields that events of CRMs set, and the characters of their values."""


@packs_by_position
@dataclass(slots=True)
class NormalizedDelivery:
    """The subjects of one delivery. They depend on nothing in the store, so they are computed before the transaction."""

    delivery: Delivery
    tool: str | None
    error: TouchbaseError | None = None
    subjects: list[EventSubject] = field(default_factory=list)
    packed: list[bytes] = field(default_factory=list)
    """Pickled parts of the subjects, if one transaction cannot apply all; `inbox_batch.subject_parts` unpickles them."""
    unused_event: str | None = None
    """The name of a known event that is not about a record."""
    unknown_event: str | None = None
    """The name of an unknown event."""
    unidentified: int = 0
    """Number of events about a person or company without any identity."""
    own_ids: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """The identities of the first event with each of the tool's own ids."""
    positions: dict[tuple[object, ...], int] = field(default_factory=dict)
    """The number of its events by their identities and time."""
    cost: int = 0
    """Of applying its subjects, in events of usual size (`cost_of`)."""
    html: int = 0
    """Characters of HTML in its messages without a text."""
    lists: list[tuple[str, str, str]] = field(default_factory=list)
    """Lists of changes to read: tool, type and id."""
    may_ask: bool = False
    """Whether the objects that the delivery only names can be fetched from the tool."""
    rule: str | None = None
    """The entry of the client's settings that ignores it."""

    @property
    def is_dated(self) -> bool:
        """Whether all events have a time or id, so that equal bytes within an hour repeat them."""
        return (
            self.error is None and not self.unidentified and not self.packed and not any(is_undated(subject) for subject in self.subjects)
        )


@dataclass(slots=True)
class DeliveryOutcome:
    """Outcome of one delivery: the results of its events."""

    normalized: NormalizedDelivery
    delivery: Delivery
    subjects: list[EventSubject]
    """The subjects that are still to be applied."""
    applied: int = 0
    parked: int = 0
    repeated: int = 0
    unknown: int = 0
    """Number of events about unknown records that may not be created."""
    refused: str = ""
    """Why some of its events were not parked: the object that they are about has as many waiting events as the limit."""
    problems: Problems = field(default_factory=dict)
    """Problems with the applied events."""
    names_erased: bool = False
    """Whether the delivery names an erased person: events about that person were removed, and its body is deleted."""


def normalize(delivery: Delivery, translation: Translation | TouchbaseError) -> NormalizedDelivery:
    """Normalize the events of one translated delivery."""
    if isinstance(translation, TouchbaseError):
        return NormalizedDelivery(delivery, delivery.tool if delivery.verified else None, translation)
    normalized = NormalizedDelivery(delivery, translation.tool or "unknown", may_ask=translation.may_ask, rule=translation.rule)
    for event in translation.events:
        if event.thin and event.event == "ignored" and event.object_type and event.object_id:
            normalized.lists.append((normalized.tool or "", event.object_type, event.object_id))
        _add_subject(normalized, event, _may_create(delivery, event, translation.create_unknown))
    if normalized.unidentified and normalized.subjects:
        add_problem(normalized.subjects[0].event.problems, ROWS_UNIDENTIFIED, str(normalized.unidentified))
    return normalized


def is_undated(subject: EventSubject) -> bool:
    """Whether an event has neither a time nor an id: then only its receipt distinguishes it from an equal event."""
    return subject.event.occurred_us is None and subject.event.key is None


def outcome_of(normalized: NormalizedDelivery) -> DeliveryOutcome:
    """Return an outcome with nothing applied yet; each attempt to apply a delivery begins with a new one."""
    return DeliveryOutcome(normalized, normalized.delivery, normalized.subjects)


def _add_subject(normalized: NormalizedDelivery, event: Event, may_create: bool | None) -> None:
    delivery, tool = normalized.delivery, normalized.tool or "unknown"
    if event.event in ("unknown", "unrecognised"):
        normalized.unknown_event = normalized.unknown_event or event.source_event
        normalized.error = UnrecognisedPayload(f"{tool} sent an event that we do not know: {normalized.unknown_event or 'no name'}")
        return
    about = event.about
    if about is None:
        normalized.unused_event = event.source_event or event.event
        return
    subject = _subject(delivery, tool, about, event, may_create)
    if subject.primary is None and subject.linkedin is None and subject.ref is None:
        if event.event == "campaign_completed":
            # It may be the end of the whole campaign, which is not about a record.
            normalized.unused_event = event.source_event or event.event
            return
        normalized.unidentified += 1
    else:
        _make_key_unique(normalized, subject)
        _set_position(normalized, subject)
        normalized.subjects.append(subject)
        if event.message is not None:
            _add_text(normalized, event, event.message)
        normalized.cost += cost_of(subject)


def _add_text(normalized: NormalizedDelivery, event: Event, content: MessageContent) -> None:
    """Extract the text of a message that has only HTML: here, because no transaction is open yet."""
    if not content.html or (content.text and content.text.strip()):
        return
    source = storable(content.html, MESSAGE_TEXT) or ""
    normalized.html += len(source)
    if normalized.html > MAX_HTML:
        add_problem(event.problems, HTML_UNREAD)
    else:
        content.text = text_of_html(source)


def cost_of(subject: EventSubject) -> int:
    """Return the cost of applying a subject, in events of usual size."""
    content, detail, size, fields = subject.event.message, subject.detail, 0, 0
    if "custom" in detail:
        fields = len(detail["custom"])
        size += sum([len(value) for value in detail["custom"].values() if value])
    if "changed" in detail:
        size += sum([len(text) for change in detail["changed"] for text in change if text])
    if content is not None:
        size += len(content.text or "") + len(content.html or "")
    return 1 + size // TEXT_PER_EVENT + fields // FIELDS_PER_EVENT


def _subject(delivery: Delivery, tool: str, about: int, event: Event, may_create: bool | None) -> EventSubject:
    """Return the identities, time and key of one event about a record."""
    event.linkedin_url = linkedin = storable(event.linkedin_url or event.fields.get("linkedin_url"), URL)
    at = event_time(event.occurred_us, delivery.received_us, _MAX_UNZONED_AHEAD if event.unzoned else DAY)
    is_unsure = event.occurred_us is not None and at != event.occurred_us
    if is_unsure:
        add_problem(event.problems, TIME_AHEAD)
    if is_unsure and event.key is None:
        # The event gets its receipt as time, so the time from the tool goes into the key that recognises repeats.
        event.key = f"{event_key(tool, event, '')} {event.occurred_us}"
    subject = EventSubject(
        event=event,
        kind=about,
        tool=tool,
        primary=_primary(about, event),
        linkedin=linkedin_key(linkedin) if linkedin and about == CONTACT else None,
        ref=_ref(tool, about, event, event.object_id),
        merged=_ref(tool, about, event, event.merged_into),
        at=at,
        key=event_key(tool, event, str(delivery.id)),
        own_id=event.key is not None,
        received_us=delivery.received_us,
        may_create=may_create,
        detail=_detail(event) | ({"time_unsure": True} if is_unsure else {}),
    )
    if LOADED in delivery.headers and (event.key or LOADED_KEY).startswith(LOADED_KEY):
        subject.detail["loaded"] = True
    if subject.ref is not None and "." in event.event:
        subject.detail["object"] = [subject.ref[1], subject.ref[2]]
    elif subject.ref is not None and subject.primary is None and subject.linkedin is None:
        subject.detail["about"] = [subject.ref[1], subject.ref[2]]
    if event.company_object is not None and about == CONTACT:
        subject.detail["company"] = [storable(part, NAME) or "" for part in event.company_object]
    return subject


def _make_key_unique(normalized: NormalizedDelivery, subject: EventSubject) -> None:
    """Make an event's key unique, if an earlier event of the delivery with other identities has the same id of the tool."""
    if not subject.own_id:
        return
    named = _named(subject)
    if normalized.own_ids.setdefault(subject.key, named) != named:
        subject.key = key_of_person(subject.key, "\0".join(str(part) for part in named))


def _set_position(normalized: NormalizedDelivery, subject: EventSubject) -> None:
    """Set the place of an event among those with equal identities and times: a later one in the body is later."""
    place = (subject.at, *_named(subject))
    if position := normalized.positions.get(place, 0):
        subject.detail["position"] = min(position, 0xFFFF)
    normalized.positions[place] = position + 1


def _named(subject: EventSubject) -> tuple[object, ...]:
    return (subject.primary, subject.linkedin, subject.ref)


def _ref(tool: str, about: int, event: Event, object_id: str | None) -> Ref | None:
    if object_id is None:
        return None
    # One type of object (an Odoo partner, a monday item) may be a person or a company.
    kind = f"company:{event.object_type or ''}" if about == COMPANY else event.object_type
    return (tool, storable(kind, NAME) or "", storable(object_id, NAME) or "")


def _primary(about: int, event: Event) -> str | None:
    if event.event.endswith(".deleted") and event.object_id is not None and not event.asks_erasure:
        # A deletion creates no record, so it waits for its object's link and not for an address.
        return None
    if about == COMPANY:
        return find_company_domain(event.domain) if event.domain else None
    return find_email_key(event.email) if event.email else None


def _may_create(delivery: Delivery, event: Event, chosen: bool | None) -> bool | None:
    """Whether an event may create its record by the connection's settings; None: the client's settings decide (campaign tools only)."""
    if delivery.channel == CRM:
        return chosen is not False and not event.event.endswith(".deleted")
    return chosen


def stored_event(subject: EventSubject, delivery: Delivery, kind: int, record_id: int, settings: ClientSettings) -> StoredEvent:
    """Return the event as it is stored in a record's history, or under a link while it waits."""
    event = subject.event
    effect = effect_of(event)
    if event.event == "linkedin_replied" and not (settings.linkedin_reply_counts if event.counts is None else event.counts):
        effect = ""
    status, detail = _status(subject, effect, settings) if effect else None, with_present_names(subject.detail, subject.kind, settings)
    problems = dict(event.problems)
    note_misfits(detail, subject.kind, settings, problems)
    if status is None and effect and (refused_status := status_word(event, effect)):
        add_problem(problems, STATUS_REFUSED, refused_status)
    if problems:
        detail = {**detail, "problems": problems}
    return StoredEvent(
        record_kind=kind,
        record_id=record_id,
        occurred_us=subject.at,
        key=subject.key,
        event=event.event,
        effect=effect,
        status=status,
        tool=subject.tool,
        channel=delivery.channel,
        campaign=storable(event.campaign, NAME),
        delivery_id=delivery.id,
        received_us=delivery.received_us,
        via=_via(subject, kind),
        detail=detail,
        campaign_id=storable(event.campaign_id, NAME),
    )


def _status(subject: EventSubject, effect: str, settings: ClientSettings) -> str | None:
    """Return the status in the client's spelling; None if the client has no such status."""
    word = storable(status_word(subject.event, effect), STATUS)
    declared = settings.declared(subject.kind)
    if word is None or declared is None:
        return word
    return settings.words(subject.kind).matching(word, declared.statuses)


def _via(subject: EventSubject, kind: int) -> int:
    if kind == EXTERNAL or subject.primary is None:
        return VIA_LINKEDIN if subject.linkedin is not None and subject.ref is None else VIA_LINK
    return VIA_DOMAIN if kind == COMPANY else VIA_EMAIL


def _detail(event: Event) -> Detail:
    detail: Detail = {}
    if event.source_event is not None and event.source_event != event.event:
        detail["source"] = storable(event.source_event, NAME)
    if event.kind is not None:
        detail["kind"] = event.kind
    if event.merged_into is not None:
        detail["merged_into"] = storable(event.merged_into, NAME)
        if event.absorbed:
            detail["absorbed"] = True
    if event.asks_erasure:
        detail["erasure"] = True
    if event.inferred:
        detail["inferred"] = {name: storable(path, NAME) for name, path in event.inferred.items()}
    if "." not in event.event:
        _add_carried(event, detail)
    elif not event.event.endswith(".deleted"):
        _add_values(event, detail)
    if event.changed:
        _add_changes(event, detail)
    if "." in event.event and (named := _identity(event)):
        detail["identity"] = named
    if event.emails is not None and "." in event.event:
        detail["emails"] = [
            email for text in event.emails[:EMAILS] if (email := storable(text, EMAIL)) and find_email_key(email) is not None
        ]
    return detail


def _identity(event: Event) -> dict[str, str]:
    """Return the e-mail address or domain that a CRM gives to its record, for the timeline; it may have changed."""
    if event.event.endswith(".deleted"):
        return {}
    name, value = ("domain", event.domain) if event.about == COMPANY else ("email", event.email)
    identity = None if value is None else find_company_domain(value) if name == "domain" else find_email_key(value)
    return {} if identity is None else {name: identity}


def _add_carried(event: Event, detail: Detail) -> None:
    carried = {}
    if event.first_name:
        carried["first_name"] = storable(event.first_name, NAME)
    if event.last_name:
        carried["last_name"] = storable(event.last_name, NAME)
    if carried:
        detail["carried"] = carried
    _add_custom(event, detail)


def _add_values(event: Event, detail: Detail) -> None:
    named = (("name", event.name),) if event.about == COMPANY else (("first_name", event.first_name), ("last_name", event.last_name))
    values: dict[str, str | None] = {name: value for name, value in named if value}
    settable = _FROM_TOOLS[COMPANY if event.about == COMPANY else CONTACT]
    values |= {name: event.fields[name] for name in settable if name in event.fields}
    if values:
        detail["fields"] = {name: storable(value, settable[name]) for name, value in values.items()}
    _add_custom(event, detail)


def _add_custom(event: Event, detail: Detail) -> None:
    if event.custom:
        named_values = [(storable(name, NAME) or "", value) for name, value in list(event.custom.items())[:CUSTOM_FIELDS]]
        custom = {name: storable(value, VALUE) for name, value in named_values if name.strip()}
        detail["custom"], left_out = within_budget(custom)
        if left_out := [*left_out, *list(event.custom)[CUSTOM_FIELDS:]]:
            add_problem(event.problems, FIELDS_LEFT_OUT, f"{len(left_out)} fields, such as {', '.join(left_out[:3])}")


def _add_changes(event: Event, detail: Detail) -> None:
    # Skip properties that are already among the record's fields.
    shown = detail.get("fields", ())
    changes: list[list[str | None]] = []
    room = CUSTOM_FIELD_BYTES
    for change in event.changed[:CUSTOM_FIELDS]:
        if change.field not in shown:
            texts = [storable(change.property, NAME), storable(change.value, VALUE), storable(change.previous, VALUE)]
            room -= sum(len(text.encode()) for text in texts if text)
            if room < 0:
                add_problem(event.problems, FIELDS_LEFT_OUT, "some of the changes that the timeline shows")
                break
            changes.append(texts)
    if changes:
        detail["changed"] = changes
