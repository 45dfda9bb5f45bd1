"""Bodies of the do-not-contact lists: entries, checks and their results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.common.field_limits import InvalidText
from touchbase.common.timestamps import Micros, to_text, to_text_or_none
from touchbase.do_not_contact.addresses import kind_of, normal_form
from touchbase.do_not_contact.models import (
    DOMAIN,
    EMAIL,
    KINDS,
    LINKEDIN_URL,
    LISTS,
    MAX_ENTRIES,
    MAY_NOT_SHORTEN,
    NOTE_LENGTH,
    REASONS,
    REFUSED,
    SOURCES,
    WRITTEN_SOURCES,
    Addresses,
    Entry,
    NewEntry,
    Saved,
    Suppressed,
)
from touchbase.errors import Fault
from touchbase.http.query_parameters import parse_time
from touchbase.http.schemas import EXAMPLES, MaybeTime, PageOf, RecordId, Time, example, named_enum

MAX_LENGTH = 2_000
"""Characters of an address as it is sent."""
OUTCOMES = ("created", "updated", "unchanged", "invalid")
KIND_NAMES = named_enum("SuppressionKind", "The kind of a listed address.", KINDS)
_REASON = named_enum("SuppressionReason", "Why an address must not be contacted.", REASONS)
_SOURCE = named_enum("SuppressionSource", "Who put an address on the list.", SOURCES)
_LIST = named_enum("SuppressionList", "The client's list, or the installation's.", LISTS)
_OUTCOME = named_enum("SuppressionOutcome", "What became of one entry of a request.", OUTCOMES)
named_enum("WrittenSource", "The sources that a request may name.", WRITTEN_SOURCES)
Kind = Literal["email", "domain", "linkedin_url"]
Reason = Literal["complained", "unsubscribed", "requested", "status", "legal", "competitor", "customer", "other", "hard_bounced"]
Source = Literal["import", "api", "person"]
GivenAddress = Annotated[str, Meta(min_length=1, max_length=MAX_LENGTH)]
Note = Annotated[str, Meta(max_length=NOTE_LENGTH, description="For people; not a place for personal data.")]


class NewSuppression(Struct, forbid_unknown_fields=True):
    """An address to put on the list."""

    value: Annotated[
        GivenAddress, Meta(description="An e-mail address, a domain with its subdomains, or the address of a LinkedIn profile.")
    ]
    kind: Annotated[
        Kind | None,
        Meta(description="Left out: a text with linkedin.com/ is a LinkedIn address, one with @ an e-mail address, another one a domain."),
    ] = None
    reason: Reason = "requested"
    source: Source = "api"
    note: Note = ""
    since: Annotated[MaybeTime, Meta(description="Left out: the time of the request.")] = None
    until: Annotated[MaybeTime, Meta(description="Afterwards the address may be contacted again. Left out: never.")] = None


class NewSuppressions(Struct, forbid_unknown_fields=True):
    """One entry (`value` and its members), or up to 1,000 as `entries`."""

    entries: Annotated[list[NewSuppression], Meta(max_length=MAX_ENTRIES)] | None = None
    value: Annotated[GivenAddress | None, Meta(description="Required without `entries`.")] = None
    kind: Kind | None = None
    reason: Reason = "requested"
    source: Source = "api"
    note: Note = ""
    since: MaybeTime = None
    until: MaybeTime = None


example(
    NewSuppressions,
    {
        "entries": [
            {"value": "jane.doe@example.com", "reason": "requested", "note": "asked on the phone"},
            {"kind": "domain", "value": "example.org", "reason": "competitor", "until": "2027-12-31T00:00:00Z"},
        ]
    },
)


class SuppressionOut(Struct):
    """One entry of a do-not-contact list."""

    id: RecordId
    kind: Annotated[str, Meta(extra_json_schema=KIND_NAMES)]
    value: Annotated[
        str | None, Meta(description="The address in normal form; null: the person was erased, and only a keyed hash of it is stored.")
    ]
    reason: Annotated[str, Meta(extra_json_schema=_REASON)]
    source: Annotated[str, Meta(extra_json_schema=_SOURCE, description="How the address came to the list.")]
    note: str
    since: Time
    until: MaybeTime
    active: Annotated[bool, Meta(description="false: `until` is over.")]
    created_time: Time
    updated_time: Time
    tool: Annotated[str | None, Meta(description="With `source` event: the tool that sent the event.")]
    delivery_id: Annotated[int | None, Meta(description="With `source` event: the delivery that brought it.")]


example(
    SuppressionOut,
    {
        "id": 7,
        "kind": "email",
        "value": "jane.doe@example.com",
        "reason": "unsubscribed",
        "source": "event",
        "note": "",
        "since": "2026-11-20T09:30:00Z",
        "until": None,
        "active": True,
        "created_time": "2026-11-20T09:30:02Z",
        "updated_time": "2026-11-20T09:30:02Z",
        "tool": "smartlead",
        "delivery_id": 4711,
    },
)


class TeamSuppression(SuppressionOut):
    """An entry with its client."""

    client_id: Annotated[str, Meta(description="The client whose list it is on.")]


example(TeamSuppression, {**EXAMPLES["SuppressionOut"], "client_id": "acme"})


class TeamSuppressionPage(PageOf[TeamSuppression]):
    """A page of entries of several clients, newest last; `next_cursor` is null on the last one."""


class SuppressionPage(PageOf[SuppressionOut]):
    """A page of entries, newest last; `next_cursor` is null on the last one."""


class SuppressionFault(Struct):
    """A fault of one address."""

    code: str
    pointer: Annotated[str, Meta(description="JSON pointer into the request.")]
    detail: str


class SavedSuppression(Struct):
    """Outcome of one entry of the request; `invalid` ones have `errors` and no `entry`."""

    outcome: Annotated[str, Meta(extra_json_schema=_OUTCOME)]
    entry: SuppressionOut | None
    errors: list[SuppressionFault] = []


class SavedSuppressions(Struct):
    """Outcomes of the entries, in the order of the request, and their counts."""

    data: list[SavedSuppression]
    created: int
    updated: int
    unchanged: int
    invalid: int


class CheckedAddress(Struct, forbid_unknown_fields=True):
    """The addresses of one person or company; at least one of them."""

    email: GivenAddress | None = None
    linkedin_url: GivenAddress | None = None
    domain: Annotated[GivenAddress | None, Meta(description="The company's domain; an e-mail address brings its own.")] = None


class SuppressionCheck(Struct, forbid_unknown_fields=True):
    """Up to 1,000 items to look up."""

    items: Annotated[list[CheckedAddress], Meta(min_length=1, max_length=MAX_ENTRIES)]


example(SuppressionCheck, {"items": [{"email": "jane.doe@example.com"}, {"domain": "example.org"}]})


class SuppressionStatus(Struct):
    """Whether an address, contact or company must not be contacted, and the entry that says so."""

    suppressed: bool
    reason: Annotated[str, Meta(extra_json_schema=_REASON)] | None = None
    list: (
        Annotated[str, Meta(extra_json_schema=_LIST, description="The list with the entry; null: the contact's status says so.")] | None
    ) = None
    kind: Annotated[str, Meta(extra_json_schema=KIND_NAMES)] | None = None
    value: Annotated[str | None, Meta(description="The listed address: the item's own, or a domain that covers it.")] = None
    since: MaybeTime = None
    until: MaybeTime = None


class CheckedItem(SuppressionStatus):
    """The status of one item; with `errors` it could not be looked up completely."""

    errors: Annotated[list[SuppressionFault], Meta(description="Invalid addresses of the item.")] = []


class CheckedItems(Struct):
    """The status of each item, in the order of the request."""

    data: list[CheckedItem]


def entry_out(entry: Entry, now: Micros) -> SuppressionOut:
    """Return an entry as responses show it."""
    return SuppressionOut(
        entry.id, entry.kind, entry.value, entry.reason, entry.source, entry.note, to_text(entry.since_us), to_text_or_none(entry.until_us),
        entry.is_active(now), to_text(entry.created_us), to_text(entry.updated_us), entry.tool, entry.delivery_id,
    )  # fmt: skip


def saved_out(results: list[Saved | list[Fault]], now: Micros, *, stored: bool = False) -> SavedSuppressions:
    """Return the results of a request; `stored` leaves out addresses and notes, as an erasure does not find stored responses."""
    items = [
        SavedSuppression("invalid", None, faults_out(result))
        if isinstance(result, list)
        else SavedSuppression("invalid", None, [SuppressionFault("forbidden", f"/entries/{index}/until", MAY_NOT_SHORTEN)])
        if result.outcome == REFUSED
        else SavedSuppression(result.outcome, entry_out(result.entry, now))
        for index, result in enumerate(results)
    ]
    for result in items:
        if stored and result.entry is not None:
            result.entry.value, result.entry.note = None, ""
    counts = {outcome: sum(result.outcome == outcome for result in items) for outcome in OUTCOMES}
    return SavedSuppressions(items, **counts)


def status_of(match: Suppressed | None) -> SuppressionStatus:
    """Return the status of one record."""
    if match is None:
        return SuppressionStatus(False)
    return SuppressionStatus(
        True, match.reason, match.listed, match.kind, match.value, to_text_or_none(match.since_us), to_text_or_none(match.until_us)
    )  # fmt: skip


def checked_item(match: Suppressed | None, faults: list[Fault]) -> CheckedItem:
    """Return the status of one item of a check."""
    return CheckedItem(**msgspec.structs.asdict(status_of(match)), errors=faults_out(faults))


def faults_out(faults: list[Fault]) -> list[SuppressionFault]:
    """Return faults as results show them."""
    return [SuppressionFault(fault.code, fault.pointer, fault.detail) for fault in faults]


def new_entry(request: NewSuppression, pointer: str, now: Micros) -> NewEntry | list[Fault]:
    """Return the entry that a request describes, or its faults."""
    faults: list[Fault] = []
    kind = request.kind or kind_of(request.value)
    value = _normal_form(kind, request.value, f"{pointer}/value", faults) or ""
    since = parse_time(request.since, f"{pointer}/since", faults)
    until = parse_time(request.until, f"{pointer}/until", faults)
    if since is not None and since > now:
        faults.append(Fault(f"{pointer}/since", "time", "lies in the future: leave it out, or send the time since when it holds"))
    if until is not None and until <= (now if since is None else since):
        faults.append(Fault(f"{pointer}/until", "time", "must lie after `since`; without `since`, after now"))
    return faults or NewEntry(kind, value, request.reason, request.source, request.note.strip(), since, until)


def addresses_of(item: CheckedAddress, pointer: str) -> tuple[Addresses, list[Fault]]:
    """Return the normal forms of an item's addresses, and the faults of the others."""
    faults: list[Fault] = []
    sent = {EMAIL: item.email, LINKEDIN_URL: item.linkedin_url, DOMAIN: item.domain}
    forms = {kind: value and _normal_form(kind, value, f"{pointer}/{kind}", faults) for kind, value in sent.items()}
    if not any(sent.values()):
        faults.append(Fault(pointer, "required", "needs one of email, linkedin_url and domain"))
    return Addresses(forms[EMAIL], forms[LINKEDIN_URL], forms[DOMAIN], linkedin_url=item.linkedin_url), faults


def _normal_form(kind: str, value: str, pointer: str, faults: list[Fault]) -> str | None:
    try:
        return normal_form(kind, value)
    except InvalidText as refused:
        faults.append(Fault(pointer, refused.code, refused.detail))
        return None
