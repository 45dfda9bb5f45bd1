"""From translated calls to sightings: which identities a batch of events names, normal and checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.clients.models import ClientSettings
from touchbase.common.field_limits import CUSTOM_FIELDS, NAME, STATUS, URL, VALUE, keepable
from touchbase.common.normalize import find_company_domain, find_email_key, linkedin_key
from touchbase.common.packing import packs_by_position
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.connections.models import CRM
from touchbase.errors import TouchbaseError, UnrecognisedPayload
from touchbase.events.event_subject import EventSubject
from touchbase.history.dedupe_keys import effective_time, event_key, key_of_person
from touchbase.history.events import (
    COMPANY,
    CONTACT,
    EXTERNAL,
    VIA_DOMAIN,
    VIA_EMAIL,
    VIA_LINK,
    VIA_LINKEDIN,
    Detail,
    Event,
    StoredEvent,
    Translation,
    effect_of,
    status_word,
)
from touchbase.history.identity_links import Ref
from touchbase.history.problems import STATUS_REFUSED, TIME_AHEAD, Problems, note
from touchbase.inbox.delivery import Delivery

_UNZONED_AHEAD: Micros = 120 * SECOND
"""By how much a time without a zone may lie after the receipt: more is another zone than UTC, and no wrong clock."""


@packs_by_position
@dataclass(slots=True)
class NormalizedDelivery:
    """What one delivery's call names. It depends on nothing that a store holds, so it is found out before a transaction begins."""

    delivery: Delivery
    tool: str | None
    error: TouchbaseError | None = None
    sightings: list[EventSubject] = field(default_factory=list)
    packed: list[bytes] = field(default_factory=list)
    """Sightings that are more than one transaction applies, in parts; `turn.parts_of` unpacks them."""
    other: str | None = None
    """The name of an event that is understood and about nobody."""
    strange: str | None = None
    """The name of an event that nobody understands."""
    nameless: int = 0
    """Events about a person or company that name none."""
    own_ids: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """Whom the first event with each of the tool's own ids is about."""
    may_ask: bool = False
    """Whether the tool can be asked for the records that the delivery only names."""

    @property
    def is_dated(self) -> bool:
        """Whether all that it says has a time or an id of its own, so that equal bytes within the hour say nothing new."""
        return self.error is None and not self.nameless and not self.packed and not any(is_undated(seen) for seen in self.sightings)


@dataclass(slots=True)
class Outcome:
    """How one delivery ends: what its events came to."""

    seen: NormalizedDelivery
    delivery: Delivery
    sightings: list[EventSubject]
    """Those of the call that may be applied."""
    applied: int = 0
    parked: int = 0
    repeated: int = 0
    unknown: int = 0
    """Events about people that we do not know and may not create."""
    problems: Problems = field(default_factory=dict)
    """What went wrong with what was applied."""
    names_erased: bool = False
    """It tells of a person who was erased: events about them were taken out, and its body goes."""


def sight(delivery: Delivery, translation: Translation | TouchbaseError) -> NormalizedDelivery:
    """The sightings in one translated delivery."""
    if isinstance(translation, TouchbaseError):
        return NormalizedDelivery(delivery, delivery.tool if delivery.verified else None, translation)
    seen = NormalizedDelivery(delivery, translation.tool or "unknown", may_ask=translation.may_ask)
    for event in translation.events:
        _sight_one(seen, event, _may_create(delivery, event, translation.create_unknown))
    return seen


def is_undated(seen: EventSubject) -> bool:
    """Whether an event carries neither a time nor an id: then only its receipt tells it from an equal one."""
    return seen.event.occurred_us is None and seen.event.key is None


def outcome_of(seen: NormalizedDelivery) -> Outcome:
    """A delivery of whose events nothing is applied yet; each attempt to apply them begins with a new one."""
    return Outcome(seen, seen.delivery, seen.sightings)


def _sight_one(seen: NormalizedDelivery, event: Event, may_create: bool | None) -> None:
    delivery, tool = seen.delivery, seen.tool or "unknown"
    if event.event in ("unknown", "unrecognised"):
        seen.strange = seen.strange or event.source_event
        seen.error = UnrecognisedPayload(f"{tool} sent an event that we do not know: {seen.strange or 'no name'}")
        return
    about = event.about
    if about is None:
        seen.other = event.source_event or event.event
        return
    sighting = _sighting(delivery, tool, about, event, may_create)
    if sighting.primary is None and sighting.linkedin is None and sighting.ref is None:
        if event.event == "campaign_completed":
            # It may be the whole campaign's end, which is about nobody.
            seen.other = event.source_event or event.event
            return
        seen.nameless += 1
    else:
        _tell_apart(seen, sighting)
        seen.sightings.append(sighting)


def _sighting(delivery: Delivery, tool: str, about: int, event: Event, may_create: bool | None) -> EventSubject:
    """The identities, time and key of one event about a record."""
    event.linkedin_url = linkedin = keepable(event.linkedin_url or event.fields.get("linkedin_url"), URL)
    at = effective_time(event.occurred_us, delivery.received_us, _UNZONED_AHEAD if event.unzoned else DAY)
    is_unsure = event.occurred_us is not None and at != event.occurred_us
    if is_unsure:
        note(event.problems, TIME_AHEAD)
    if is_unsure and event.key is None:
        # The receipt stands for the time, so the time that the tool gave tells a fact from its repetition.
        event.key = f"{event_key(tool, event, '')} {event.occurred_us}"
    sighting = EventSubject(
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
    if sighting.ref is not None and "." in event.event:
        sighting.detail["object"] = [sighting.ref[1], sighting.ref[2]]
    if event.company_object is not None and about == CONTACT:
        sighting.detail["company"] = [keepable(each, NAME) or "" for each in event.company_object]
    return sighting


def _tell_apart(seen: NormalizedDelivery, sighting: EventSubject) -> None:
    """Give a fact a key of its own where an earlier one of the call, about somebody else, has the same id of the tool."""
    if not sighting.own_id:
        return
    named = _named(sighting)
    if seen.own_ids.setdefault(sighting.key, named) != named:
        sighting.key = key_of_person(sighting.key, "\0".join(str(each) for each in named))


def _named(sighting: EventSubject) -> tuple[object, ...]:
    return (sighting.primary, sighting.linkedin, sighting.ref)


def _ref(tool: str, about: int, event: Event, object_id: str | None) -> Ref | None:
    if object_id is None:
        return None
    # One kind of object (an Odoo partner, a monday item) may be a person here and a company there.
    kind = f"company:{event.object_type or ''}" if about == COMPANY else event.object_type
    return (tool, keepable(kind, NAME) or "", keepable(object_id, NAME) or "")


def _primary(about: int, event: Event) -> str | None:
    if event.event.endswith(".deleted") and event.object_id is not None:
        # A deletion makes nobody, so it cannot wait for an address, only for its object's link.
        return None
    if about == COMPANY:
        return find_company_domain(event.domain) if event.domain else None
    return find_email_key(event.email) if event.email else None


def _may_create(delivery: Delivery, event: Event, chosen: bool | None) -> bool | None:
    """Whether an event may make its record, as the connection says; None leaves it to the client's settings, for campaign tools."""
    if delivery.channel == CRM:
        return chosen is not False and not event.event.endswith(".deleted")
    return chosen


def stored(sighting: EventSubject, delivery: Delivery, kind: int, record_id: int, settings: ClientSettings) -> StoredEvent:
    """The event as it stands in a record's history, or under a link while it waits."""
    event = sighting.event
    effect = effect_of(event)
    if event.event == "linkedin_replied" and not (settings.linkedin_reply_counts if event.counts is None else event.counts):
        effect = ""
    status, detail = _status(sighting, effect, settings) if effect else None, sighting.detail
    problems = dict(event.problems)
    if status is None and effect and (asked := status_word(event, effect)):
        note(problems, STATUS_REFUSED, asked)
    if problems:
        detail = {**detail, "problems": problems}
    return StoredEvent(
        record_kind=kind,
        record_id=record_id,
        occurred_us=sighting.at,
        key=sighting.key,
        event=event.event,
        effect=effect,
        status=status,
        tool=sighting.tool,
        channel=delivery.channel,
        campaign=keepable(event.campaign, NAME),
        delivery_id=delivery.id,
        received_us=delivery.received_us,
        via=_via(sighting, kind),
        detail=detail,
    )


def _status(sighting: EventSubject, effect: str, settings: ClientSettings) -> str | None:
    """The status word, in the client's own spelling; None where the client's set has no such status."""
    word = keepable(status_word(sighting.event, effect), STATUS)
    declared = settings.company_statuses if sighting.kind == COMPANY else settings.contact_statuses
    if word is None or declared is None:
        return word
    folded = word.casefold().replace("_", " ")
    return next((own for own in declared.statuses if own.casefold().replace("_", " ") == folded), None)


def _via(sighting: EventSubject, kind: int) -> int:
    if kind == EXTERNAL or sighting.primary is None:
        return VIA_LINKEDIN if sighting.linkedin is not None and sighting.ref is None else VIA_LINK
    return VIA_DOMAIN if kind == COMPANY else VIA_EMAIL


def _detail(event: Event) -> Detail:
    detail: Detail = {}
    if event.source_event is not None and event.source_event != event.event:
        detail["source"] = keepable(event.source_event, NAME)
    if event.kind is not None:
        detail["kind"] = event.kind
    if event.merged_into is not None:
        detail["merged_into"] = keepable(event.merged_into, NAME)
    if "." not in event.event:
        _add_carried(event, detail)
    elif not event.event.endswith(".deleted"):
        _add_values(event, detail)
    if event.changed:
        _add_changes(event, detail)
    if "." in event.event and (named := _identity(event)):
        detail["identity"] = named
    return detail


def _identity(event: Event) -> dict[str, str]:
    """The address or the domain under which a CRM tells of its record, for the timeline: it may be another than before."""
    if event.event.endswith(".deleted"):
        return {}
    name, value = ("domain", event.domain) if event.about == COMPANY else ("email", event.email)
    found = None if value is None else find_company_domain(value) if name == "domain" else find_email_key(value)
    return {} if found is None else {name: found}


def _add_carried(event: Event, detail: Detail) -> None:
    carried = {}
    if event.first_name:
        carried["first_name"] = keepable(event.first_name, NAME)
    if event.last_name:
        carried["last_name"] = keepable(event.last_name, NAME)
    if carried:
        detail["carried"] = carried


def _add_values(event: Event, detail: Detail) -> None:
    named = (("name", event.name),) if event.about == COMPANY else (("first_name", event.first_name), ("last_name", event.last_name))
    given: dict[str, str | None] = {name: value for name, value in named if value}
    given |= {name: event.fields[name] for name, _ in named if name in event.fields}
    if given:
        detail["fields"] = {name: keepable(value, NAME) for name, value in given.items()}
    if event.custom:
        named_values = [(keepable(name, NAME) or "", value) for name, value in list(event.custom.items())[:CUSTOM_FIELDS]]
        detail["custom"] = {name: keepable(value, VALUE) for name, value in named_values if name.strip()}


def _add_changes(event: Event, detail: Detail) -> None:
    # What stands among our own fields is told under their names.
    told = detail.get("fields", ())
    if changes := [change for change in event.changed[:CUSTOM_FIELDS] if change.field not in told]:
        detail["changed"] = [
            [keepable(change.property, NAME), keepable(change.value, VALUE), keepable(change.previous, VALUE)] for change in changes
        ]
