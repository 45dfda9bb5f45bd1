"""Events: what tools tell us, in our words.

The vocabulary is that of the two facts pages (campaign tools and CRMs). An adapter turns one webhook
call into a list of `Event`s; applying one gives a `StoredEvent` in a record's history.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from touchbase.common.packing import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history import status as st
from touchbase.history.last_writer_wins import Place, place_of

EMAIL_EVENTS = frozenset(
    {
        "email_sent", "email_delivered", "manual_email_sent", "email_opened", "email_clicked", "email_deferred",
        "email_send_failed", "email_replied", "email_auto_replied", "email_bounced", "email_unsubscribed",
        "email_spam_complaint", "email_resubscribed", "lead_status_changed", "linkedin_sent", "linkedin_replied",
        "linkedin_invite_sent", "linkedin_invite_accepted", "linkedin_other", "campaign_completed", "contact_saved",
        "account_event", "other", "unknown",
    }
)  # fmt: skip
CRM_EVENTS = frozenset(
    f"{kind}.{what}" for kind in ("contact", "company") for what in ("created", "updated", "status_changed", "deleted")
) | {"ignored", "handshake", "unrecognised", "email_unsubscribed", "email_bounced"}
"""The last two: a CRM's marks that an address is opted out, or takes no mail."""

# Events that say nothing about one person or company: kept and counted, never applied.
NOT_ABOUT_A_RECORD = frozenset({"account_event", "other", "unknown", "ignored", "handshake", "unrecognised"})

CONTACT = 1
COMPANY = 2
EXTERNAL = 3
"""A tool's object whose identity we do not know yet: its events wait under its link."""


@dataclass(slots=True)
class Change:
    """One property that a CRM says has changed; `previous` is None where the CRM does not tell."""

    property: str
    value: str | None
    previous: str | None = None
    field: str | None = None
    """The field of ours to which the property belongs: where `Event.fields` has it, it tells the same."""
    is_ours: bool = False
    """Whether `property` is our own name, of an identity (`email`, `domain`, `linkedin_url`)."""


@packs_by_position
@dataclass(slots=True)
class Event:
    """One fact from one webhook call, before we know which of our records it is about.

    `occurred_us` is None when the tool gives no usable time: then the time of receipt counts.
    `key` is the tool's own event id; without one a key is derived from the content.
    """

    event: str
    occurred_us: Micros | None = None
    email: str | None = None
    linkedin_url: str | None = None
    status: str | None = None
    """For `lead_status_changed` and `*.status_changed`: the normalised word, `custom:<label>`, or the CRM's text."""
    kind: str | None = None
    """For `email_bounced`: hard, soft or unknown."""
    counts_as_sent: bool = False
    """A delivery report of a tool that sends no sent event: it stands for the sent mail."""
    first_name: str | None = None
    last_name: str | None = None
    campaign: str | None = None
    """The campaign's name, else its id, as text."""
    message_id: str | None = None
    """The mail this is about, where the tool names it; part of the derived key."""
    step: str | None = None
    """The step of the campaign's sequence, as text."""
    link: str | None = None
    """The URL that was clicked."""
    campaign_id: str | None = None
    """The campaign's id, as text, where the tool gives both a name and an id."""
    object_type: str | None = None
    object_id: str | None = None
    company_object: tuple[str, str] | None = None
    """The company that a contact belongs to: the tool's word for the kind of object, and the object's id."""
    domain: str | None = None
    name: str | None = None
    """A company's name."""
    changed: list[Change] = field(default_factory=list)
    fields: dict[str, str | None] = field(default_factory=dict)
    """CRM values for our own fields: first_name, last_name, name, linkedin_url. None clears."""
    custom: dict[str, str | None] = field(default_factory=dict)
    """CRM values for custom fields by name. None clears."""
    merged_into: str | None = None
    key: str | None = None
    source_event: str | None = None
    """The tool's own name for it."""
    told_status: str | None = None
    """What `status` was before the client's own word took its place."""
    counts: bool | None = None
    """For `linkedin_replied`: whether it counts as a reply; None leaves it to the client's settings."""
    unzoned: bool = False
    """Its time names no zone and was read as UTC: it is not believed where that lies after the receipt."""
    word: str | None = None
    """The client's own status for what a mail, a reply or a bounce sets by itself; empty: it sets none. None: our word."""
    problems: dict[str, str] = field(default_factory=dict)
    """What went wrong with it (`history/problems.py`)."""
    thin: bool = False
    """It says that a CRM's record changed and not to what: worth asking the CRM."""

    @property
    def about(self) -> int | None:
        """CONTACT or COMPANY, or None when the event is about no record."""
        if self.event in NOT_ABOUT_A_RECORD:
            return None
        return COMPANY if self.event.startswith("company.") else CONTACT


@dataclass(slots=True)
class Translation:
    """What one webhook call means: whose it is, and what it says.

    `tool` is None when no adapter knows it. No events at all, or only such as `other`, is a call that
    is understood and not used.
    """

    tool: str | None
    events: list[Event]
    create_unknown: bool | None = None
    """Whether it may create records; None leaves it to the client's settings."""
    may_ask: bool = False
    """Whether the tool can be asked for records that the call leaves out. Never true of an answer of the tool itself."""


Detail = dict[str, Any]
"""What an event carries besides its columns, only what is there:
`source` the tool's own name, `kind` of a bounce, `changed` as [property, value, previous] lists,
`identity` the address or domain of a CRM's record, `time_unsure` where the receipt stands for its time,
`carried` values of a campaign event and `fields` and `custom` values of a CRM or API write, all for folding;
of an API write also `cleared`, where it took all custom fields away, and `by`, its key's id and its request's."""


@dataclass(slots=True)
class StoredEvent:
    """One event in the history of one record; (record_kind, record_id, occurred_us, key) is unique per client."""

    record_kind: int
    record_id: int
    occurred_us: Micros
    key: str
    event: str
    effect: str
    """What folding does with it: one of `history/status.py`, or "" for nothing but being listed."""
    status: str | None
    tool: str
    channel: str
    campaign: str | None
    delivery_id: int | None
    received_us: Micros
    via: int
    """Which identity led to the record: VIA_EMAIL, VIA_LINKEDIN, VIA_LINK, VIA_DOMAIN or VIA_API."""
    detail: Detail

    @property
    def place(self) -> Place:
        """Its place among the entries of its record, by which everything is folded."""
        return place_of(self.occurred_us, self.received_us, self.key)

    @property
    def is_creation(self) -> bool:
        """Whether it is a `POST` of a record through the API."""
        return self.via == VIA_API and self.event in CREATIONS


CREATIONS = frozenset({"contact.created", "company.created"})
VIA_API = 0
VIA_EMAIL = 1
VIA_LINKEDIN = 2
VIA_LINK = 3
VIA_DOMAIN = 4

CRM_STATUS_EVENTS = frozenset({"contact.status_changed", "company.status_changed"})
"""Events that set a status as a CRM's word for its record."""

_EFFECTS = {
    "email_sent": st.SENT,
    "email_replied": st.REPLY,
    "linkedin_replied": st.REPLY,
    "email_unsubscribed": st.UNSUBSCRIBE,
    "email_spam_complaint": st.COMPLAINT,
    "email_resubscribed": st.RESUBSCRIBE,
    "lead_status_changed": st.STATUS,
    **dict.fromkeys(CRM_STATUS_EVENTS, st.STATUS),
}


def effect_of(event: Event) -> str:
    """What folding does with an event."""
    if event.event == "email_bounced":
        return st.BOUNCE if event.kind == "hard" else ""
    if event.event == "email_delivered":
        return st.SENT if event.counts_as_sent else ""
    return _EFFECTS.get(event.event, "")


_WORDS = {
    st.SENT: st.CONTACTED,
    st.REPLY: st.REPLIED,
    st.BOUNCE: st.BOUNCED,
    st.UNSUBSCRIBE: st.DO_NOT_CONTACT,
    st.COMPLAINT: st.DO_NOT_CONTACT,
}


def status_word(event: Event, effect: str) -> str | None:
    """The status that an event asks for, in our words; a tool's own label is kept as it is."""
    if effect == st.STATUS:
        return (event.status or "").removeprefix("custom:") or None
    return _WORDS.get(effect) if event.word is None else event.word or None
