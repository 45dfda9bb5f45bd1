"""Events in the shared vocabulary of all tools, and the authors of API writes.

The vocabulary is from the reference pages on campaign tools and CRMs. An adapter translates one webhook
into a list of `Event`s; applying an event adds a `StoredEvent` to a record's history.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history.last_writer_wins import EffectiveTime, effective_time
from touchbase.history.status import BOUNCE, COMPLAINT, REPLY, RESUBSCRIBE, SENT, STATUS, UNSUBSCRIBE
from touchbase.history.status_words import BOUNCED, CONTACTED, DO_NOT_CONTACT, REPLIED

EMAIL_CAMPAIGN = "email_campaign"
CRM = "crm"
CHANNELS = (EMAIL_CAMPAIGN, CRM)


class Author(NamedTuple):
    """API key and request of one API write, as stored in the record's history."""

    key_id: str | None = None
    """The id of the API key; None without authentication."""
    request_id: str | None = None


NO_AUTHOR = Author()


MEETING_STATUSES = {
    "meeting_booked": "meeting_booked", "meeting_canceled": None, "meeting_rescheduled": None, "meeting_no_show": "no_show",
}  # fmt: skip
"""Events of booking tools, and the status that each sets unless the client names another: none for a canceled or moved meeting."""
MEETING_START = "meeting_start"
"""The property of such an event that has the start of the meeting, in UTC."""
EMAIL_EVENTS = MEETING_STATUSES.keys() | frozenset(
    {
        "email_sent", "email_delivered", "manual_email_sent", "email_opened", "email_clicked", "email_deferred",
        "email_send_failed", "email_replied", "email_auto_replied", "email_bounced", "email_unsubscribed",
        "email_spam_complaint", "email_resubscribed", "lead_status_changed", "linkedin_sent", "linkedin_replied",
        "linkedin_invite_sent", "linkedin_invite_accepted", "linkedin_other", "campaign_completed", "contact_saved",
        "email_preferences_changed", "account_event", "other", "unknown",
    }
)  # fmt: skip
CRM_EVENTS = (
    frozenset(f"{kind}.{what}" for kind in ("contact", "company") for what in ("created", "updated", "status_changed", "deleted"))
    | {"ignored", "handshake", "unrecognised", "email_unsubscribed", "email_resubscribed", "email_bounced", "email_preferences_changed"}
    | MEETING_STATUSES.keys()
)
"""With a CRM's marks that an address is opted out, or bounces, and the meetings of booking tools."""

# Events about no person or company: stored and counted, never applied.
NOT_ABOUT_A_RECORD = frozenset({"account_event", "other", "unknown", "ignored", "handshake", "unrecognised"})
RECORD_EVENTS = tuple(sorted((EMAIL_EVENTS | CRM_EVENTS) - NOT_ABOUT_A_RECORD))
"""Events of deliveries that histories may have."""

CONTACT = 1
COMPANY = 2
EXTERNAL = 3
"""A tool's object without a record yet: its events are parked under its link."""


@dataclass(slots=True)
class PropertyChange:
    """One changed property of a CRM object; `previous` is None where the CRM does not send it."""

    property: str
    value: str | None
    previous: str | None = None
    field: str | None = None
    """Our field for this property; `Event.fields` has the same value."""
    is_ours: bool = False
    """Whether `property` is the name of one of our identity fields (`email`, `domain`, `linkedin_url`)."""


@dataclass(slots=True)
class MessageContent:
    """Content of a mail or LinkedIn message in a webhook: a sent message or a reply."""

    subject: str | None = None
    text: str | None = None
    """The plain text, where the tool sends it."""
    html: str | None = None
    """The HTML as the tool sends it: written by outsiders, so it is stored and never shown as it is."""
    mailbox: str | None = None
    """The client's own address or LinkedIn account that sent the message, or that received the reply."""
    thread_id: str | None = None
    """The conversation, where the tool has an id for it."""
    message_id: str | None = None
    """The message's id, where the tool sends one: never its conversation's, or the answered mail's."""
    category: str | None = None
    """The tool's label of a reply, such as its sentiment, in its own words."""
    reply_ref: str | None = None
    """Of a reply, as JSON: the ids by which the tool's API answers it, as text by their names; None: it cannot."""
    thread_url: str | None = None
    """Of a reply: where the tool shows its conversation."""


@packs_by_position
@dataclass(slots=True)
class Event:
    """One fact from one webhook, before identity resolution has found its record.

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
    """A delivery report of a tool that sends no event for sent mail: it counts as the sent mail."""
    first_name: str | None = None
    last_name: str | None = None
    campaign: str | None = None
    """The campaign's name, else its id, as text."""
    message_id: str | None = None
    """The mail's id, where the tool sends it; part of the derived key."""
    step: str | None = None
    """The step of the campaign's sequence, as text."""
    link: str | None = None
    """The URL that was clicked."""
    campaign_id: str | None = None
    """The campaign's id, as text, where the tool sends one; unlike the name it does not change."""
    object_type: str | None = None
    object_id: str | None = None
    company_object: tuple[str, str] | None = None
    """The contact's company: the tool's object type, and the object's id."""
    domain: str | None = None
    name: str | None = None
    """A company's name."""
    changed: list[PropertyChange] = field(default_factory=list)
    fields: dict[str, str | None] = field(default_factory=dict)
    """CRM values for our own fields: first_name, last_name, name, linkedin_url. None clears."""
    custom: dict[str, str | None] = field(default_factory=dict)
    """Values for custom fields by name: of a CRM, or of paths that a client declared. None clears."""
    merged_into: str | None = None
    absorbed: bool = False
    """With `merged_into`: the values of the other object win, also older ones, and the CRM sends no change for them."""
    key: str | None = None
    source_event: str | None = None
    """The tool's own name for it."""
    original_status: str | None = None
    """The value of `status` before the client's own status replaced it."""
    counts: bool | None = None
    """For `linkedin_replied`: whether it counts as a reply; None leaves it to the client's settings."""
    unzoned: bool = False
    """Its time has no zone and was read as UTC: a time after the receipt is ignored."""
    word: str | None = None
    """The client's own status for a mail, a reply, a bounce or a meeting; empty: it sets none. None: the default status."""
    problems: dict[str, str] = field(default_factory=dict)
    """Its problems (`history/problems.py`)."""
    thin: bool = False
    """It names a changed CRM object without values: they can be fetched from the CRM."""
    message: MessageContent | None = None
    """The sent mail or the reply of this event, where the tool sends any of it."""
    emails: list[str] | None = None
    """All addresses of a CRM's contact, the first one as `email`, where the CRM sends them as a list: each replaces the one before."""
    asks_erasure: bool = False
    """A CRM's deletion that is a legal request to erase the person."""
    inferred: dict[str, str] = field(default_factory=dict)
    """Of a body without an adapter: the paths of values that no mapping names, by the mapping's name of the field."""

    @property
    def about(self) -> int | None:
        """CONTACT or COMPANY; None for an event about no record."""
        if self.event in NOT_ABOUT_A_RECORD:
            return None
        return COMPANY if self.event.startswith("company.") else CONTACT


@dataclass(slots=True)
class Translation:
    """The translation of one webhook: its tool and its events.

    `tool` is None when no adapter recognises it. No events at all, or only events such as `other`, mean that the webhook
    is recognised and ignored.
    """

    tool: str | None
    events: list[Event]
    create_unknown: bool | None = None
    """Whether it may create records; None leaves it to the client's settings."""
    may_ask: bool = False
    """Whether objects that the webhook leaves out can be fetched from the tool. False for a fetched response."""
    rule: str | None = None
    """The entry of the client's settings that ignores it, such as `events.call.finished`."""


Detail = dict[str, Any]
"""The values of an event that are not a column, only present ones:
`source` the tool's own name, `kind` of a bounce, `changed` as [property, value, previous] lists,
`identity` the address or domain of a CRM's record, `time_unsure` where the receipt replaces its time,
`merged_into` the object that the event's was merged into, `absorbed` where that one's values win,
`erasure` where a deletion asks to erase the person,
`inferred` the paths of values that no mapping named (`Event.inferred`),
`loaded` where a first load brought it without the id that the tool's webhook has, `twin` the event that joined it (`loaded_events`),
`about` the object of an event that names no address, of which it says nothing itself,
`other` the id of another record that the event names too, of which it is not known whether it is the same person,
`joined` the ids of records that the event made part of another one, when it was applied,
`position` the place among its delivery's events with equal times,
`carried` values of a campaign event, `fields` of a CRM or API write and `custom` values, all for folding;
of an API write also `cleared`, where it removed all custom fields, `restates`, where the record had all its values, and `by`, the ids of
its key and its request."""


@dataclass(slots=True)
class StoredEvent:
    """One event in the history of one record; (record_kind, record_id, occurred_us, key) is unique per client."""

    record_kind: int
    record_id: int
    occurred_us: Micros
    key: str
    event: str
    effect: str
    """Its effect on the status and dates: one of `history/status.py`, or "" for none."""
    status: str | None
    tool: str
    channel: str
    campaign: str | None
    delivery_id: int | None
    received_us: Micros
    via: int
    """The identity by which the record was found: VIA_EMAIL, VIA_LINKEDIN, VIA_LINK, VIA_DOMAIN or VIA_API."""
    detail: Detail
    campaign_id: str | None = None
    """The campaign's id, where the tool sends one; `campaign` is its name, else its id."""

    @property
    def effective_time(self) -> EffectiveTime:
        """Its effective time: the order in which a record's entries are folded."""
        position = None if self.delivery_id is None else self.detail.get("position", 0)
        return effective_time(self.occurred_us, self.received_us, self.key, position)

    @property
    def asks_erasure(self) -> bool:
        """Whether it is a CRM's request to erase the person."""
        return "erasure" in self.detail

    @property
    def is_creation(self) -> bool:
        """Whether it is a creation through the API."""
        return self.via == VIA_API and self.event in CREATIONS


CREATIONS = frozenset({"contact.created", "company.created"})
VIA_API = 0
IMPORT = "import"
"""Tool of the events that an import adds: dates of earlier mails and replies, from another system."""
VIA_EMAIL = 1
VIA_LINKEDIN = 2
VIA_LINK = 3
VIA_DOMAIN = 4

CRM_STATUS_EVENTS = frozenset({"contact.status_changed", "company.status_changed"})
"""Events that set the status of a CRM object."""

_EFFECTS = {
    "email_sent": SENT,
    "email_replied": REPLY,
    "linkedin_replied": REPLY,
    "email_unsubscribed": UNSUBSCRIBE,
    "email_spam_complaint": COMPLAINT,
    "email_resubscribed": RESUBSCRIBE,
    "lead_status_changed": STATUS,
    **dict.fromkeys(CRM_STATUS_EVENTS, STATUS),
}


def effect_of(event: Event) -> str:
    """Return the event's effect, as `StoredEvent.effect`."""
    if event.event == "email_bounced":
        return BOUNCE if event.kind in ("hard", "unknown") else ""
    if event.event == "email_delivered":
        return SENT if event.counts_as_sent else ""
    if event.event in MEETING_STATUSES:
        return STATUS if _status_of_meeting(event) else ""
    return _EFFECTS.get(event.event, "")


_WORDS = {
    SENT: CONTACTED,
    REPLY: REPLIED,
    BOUNCE: BOUNCED,
    UNSUBSCRIBE: DO_NOT_CONTACT,
    COMPLAINT: DO_NOT_CONTACT,
}


def status_word(event: Event, effect: str) -> str | None:
    """Return the status that an event sets; a tool's own label stays as it is."""
    if event.event in MEETING_STATUSES:
        return _status_of_meeting(event)
    if effect == STATUS:
        return (event.status or "").removeprefix("custom:") or None
    return _WORDS.get(effect) if event.word is None else event.word or None


def _status_of_meeting(event: Event) -> str | None:
    return MEETING_STATUSES[event.event] if event.word is None else event.word or None
