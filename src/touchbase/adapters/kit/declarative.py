"""A campaign tool as a table: event names and their meaning, and the path of each field in a body.

Most tools differ only in this. Paths are written `data.lead.email`, several of them separated by blanks; the first with
a usable value is taken. Special cases are subclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.body_paths import Path, at, paths, pick
from touchbase.adapters.kit.client_overrides import override_status
from touchbase.adapters.kit.event_types import AUTO_REPLIED, OTHER, UNKNOWN, Meaning, meaning_of
from touchbase.adapters.kit.extract import address, flag, linkedin, objects, split_name, text
from touchbase.adapters.kit.messages import USUAL_RECEIVED, USUAL_SENT, MessagePaths, MessageReader, is_machine_mail, is_message
from touchbase.adapters.kit.signatures import Scheme
from touchbase.adapters.kit.status_labels import kind_of_bounce, label_of, status_of, words
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros, to_text_or_none
from touchbase.history.events import EMAIL_CAMPAIGN, MEETING_START, MEETING_STATUSES, Event, PropertyChange

STEPS = (
    "step step_number stepNumber step_id sequence_number current_sequence_number sequenceStep sequence_step sequence_step_order "
    "sequence_step_id data.step data.step_number data.sequence_step sequence_stage.index data.scheduled_email.sequence_step_id"
)
"""Paths of the campaign step in which an email was sent."""
CAMPAIGN_IDS = (
    "campaign_id campaignId campaign.id camp_id sequence_id sequenceId sequence.id mj_campaign_id data.campaign.id data.campaign_id "
    "data.sequence.id event-data.campaigns.0 CampaignId params.campaign_id sequence_fields.id "
    "cadence.id data.relationships.sequence.data.id prospect.campaign_id campaign.campaign_id data.campaignId event-data.campaigns.0.id "
    "campaigns.0.id campaign-id reply_sequence.id marketing_campaign_id singlesend_id data.broadcast_id sequence_fields.sequence_id "
    "payload.sequence.id msg.metadata.campaign_id"
)
"""Paths of the campaign's id, of all tools: a report counts campaigns by it, because names are changed."""
LINKS = (
    "url link link_url clicked_link clicked_url click_url target_link_url OriginalLink link_clicked link_clicked.0 link_clicked.0.url "
    "link.url link_details.0.url data.url data.link data.click.link event-data.url "
    "params.clicked_link"
)
"""Paths of the clicked URL. Read for clicks only: elsewhere such keys hold other URLs."""

T = TypeVar("T")
Item = dict[str, object]
_PLAIN = str.maketrans("-. ", "___")


def batch(data: object) -> list[object]:
    """Return the items of a body: a list's elements, or the one object. An empty object (a test button) gives none."""
    if isinstance(data, list):
        return data
    return [data] if isinstance(data, dict) and data else []


def events_of(data: object, read: Callable[[Item], Event]) -> list[Event]:
    """Return the events of a body's items; an unreadable item is `unknown` and does not affect the others."""
    return [_safely(item, read) for item in batch(data)]


def _safely(item: object, read: Callable[[Item], Event]) -> Event:
    if not isinstance(item, dict):
        return Event("unknown")
    try:
        return read(item)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return Event("unknown")


@dataclass(frozen=True, slots=True)
class DetectionRule:
    """A detection rule: keys (as paths) that occur together in a tool's bodies, or a header, and the confidence that they give.

    `named` also requires that the event's name is one of the tool's; `spelt` checks its spelling.
    """

    keys: str
    confidence: int
    header: str = ""
    named: bool = False
    spelt: Callable[[str], bool] | None = None
    starts: str = ""
    """Required prefix of the text at the first key, which is a top-level key."""

    @property
    def detection_key(self) -> str:
        """The key or header under which the registry indexes the adapter."""
        return self.header or self.keys.split()[0].partition(".")[0]


@dataclass
class TableAdapter:
    """An adapter defined by tables."""

    tool: str
    shapes: tuple[DetectionRule, ...]
    name: str
    email: str
    time: str
    names: Mapping[str, Meaning] = field(default_factory=dict)
    """Event names in lower case, with `_` between words. Other names are classified by their words."""
    plain_names: str = ""
    """The tool's names, with blanks between them, whose meaning their words say."""
    nameless: Mapping[str, str] = field(default_factory=dict)
    """For bodies without an event name: a key that identifies the event, and the event's name."""
    beginnings: Mapping[str, Meaning] = field(default_factory=dict)
    """Meaning by prefix, for names that are not in `names`."""
    other_names: Meaning | None = None
    """Meaning of all other names; None: by their words."""
    times: Mapping[str, str] = field(default_factory=dict)
    """Paths of an event type's own time; they take precedence over the common paths."""
    linkedin: str = ""
    first_name: str = ""
    last_name: str = ""
    full_name: str = ""
    campaign: str = ""
    campaign_id: str = CAMPAIGN_IDS
    step: str = STEPS
    link: str = LINKS
    message: str = ""
    key: str = ""
    label: str = ""
    bounce: str = ""
    automated: str = ""
    """Flags that turn a reply into an automatic reply."""
    reply_label: str = ""
    """Paths of a reply's label; an out-of-office label turns the reply into an automatic reply."""
    sent: MessagePaths = field(default_factory=MessagePaths)
    """Paths of a sent mail or LinkedIn message, as far as they are known."""
    received: MessagePaths = field(default_factory=MessagePaths)
    """Paths of a reply, as far as they are known."""
    usual_messages: bool = True
    """Whether a message's usual paths count too, after the known ones. Not where a client's own columns are next to the tool's keys."""
    object_type: str | None = None
    object_id: str = ""
    stops_on_bounce: bool = False
    """Whether the tool stops a lead whose mail bounced: then a bounce without a type is a hard one."""
    known_only: frozenset[str] = frozenset()
    """The tool's names of events that create no record."""
    lists: str = ""
    """Keys of lists inside lists, outermost first: each element of the innermost is an item, with the members around it."""
    meeting_start: str = ""
    meeting_link: str = ""
    meeting_id: str = ""
    """Paths of a meeting's start, link and id, for events about meetings."""
    channel: str = EMAIL_CAMPAIGN
    channels: tuple[str, ...] = (EMAIL_CAMPAIGN,)
    """The channels at whose addresses the tool's webhooks are read."""
    signature_schemes: tuple[Scheme, ...] = ()

    def __post_init__(self) -> None:
        self._plain_names = frozenset(self.plain_names.split())
        self.detection_keys = frozenset(shape.detection_key for shape in self.shapes)
        self._places = {name: paths(getattr(self, name)) for name in _PLACES}
        self._times = {event: paths(f"{own} {self.time}") for event, own in self.times.items()}
        usual = (USUAL_SENT, USUAL_RECEIVED) if self.usual_messages else (MessagePaths(), MessagePaths())
        self._messages = MessageReader(self.sent.before(usual[0]), self.received.before(usual[1]))
        self._shapes = [_CompiledRule(shape) for shape in sorted(self.shapes, key=lambda shape: -shape.confidence)]
        # A subclass that overrides `recognise` has no known shapes.
        self._has_shapes = type(self).recognise is TableAdapter.recognise
        self.max_confidence = self._shapes[0].shape.confidence if self._has_shapes else 100

    def confidence_with(self, names: Set[str], headers: Collection[str]) -> int:
        """Return the highest confidence for an object with these names, in a webhook with these headers."""
        if not self._has_shapes:
            return self.max_confidence
        rules = (rule for rule in self._shapes if rule.tops <= names and (not rule.shape.header or rule.shape.header in headers))
        return next((rule.shape.confidence for rule in rules), 0)

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the highest confidence of a matching rule for the webhook's first objects."""
        # Fast path without a loop: most webhooks are one object.
        if isinstance(webhook.data, dict):
            return self._sure(webhook.data, webhook)
        return max((self._sure(item, webhook) for item in objects(webhook.data)), default=0)

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return one event per item."""
        return events_of(self.items(webhook.data), lambda item: self.event_of(item, webhook))

    def items(self, data: object) -> object:
        """Return the items of a body, one event each: by default its list, or its one object, opened at `lists`."""
        items = data
        for key in self.lists.split():
            items = [inner for item in batch(items) for inner in _inner(item, key)]
        return items

    def event_of(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return one item as an event with its message, which depends on the person of the event."""
        event = self.read(item, webhook)
        if is_message(event):
            event.message = self._messages.read(event, self.message_item(item))
        return event

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the tool's own name of the event."""
        name = pick(item, self._places["name"], text)
        return name or next((stood_for for key, stood_for in self.nameless.items() if key in item), None)

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning of an event name."""
        begun = (meaning for beginning, meaning in self.beginnings.items() if normalize_event_name(name).startswith(beginning))
        return self.listed(name) or next(begun, None) or self.other_names or meaning_of(name)

    def listed(self, name: str) -> Meaning | None:
        """Look up a name in the tables, with any separator between its words."""
        return self._listed(normalize_event_name(name)) or self._listed(words(name).replace(" ", "_"))

    def _listed(self, name: str) -> Meaning | None:
        return self.names.get(name) or (meaning_of(name) if name in self._plain_names else None)

    @property
    def meanings(self) -> dict[str, Meaning]:
        """The meaning of each name in the tables."""
        return {**{name: meaning_of(name) for name in self._plain_names}, **self.names}

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return one item as an event."""
        name = self.named(item, webhook)
        meaning = UNKNOWN if name is None else self.meaning(name, item)
        if meaning.event == "email_replied" and self._is_automatic(item):
            meaning = AUTO_REPLIED
        event = self._event(meaning, name, item)
        if webhook.settings.status_labels:
            override_status(event, webhook.settings, self.find(item, "label", label_of), name)
        return event

    def message_item(self, item: Item) -> Item:
        """Return the object in which the paths of a message begin."""
        return item

    def _is_automatic(self, item: Item) -> bool:
        if self.automated and any(flag(at(item, path)) for path in self._places["automated"]):
            return True
        if is_machine_mail(item):
            return True
        return bool(self.reply_label) and self.find(item, "reply_label", status_of) == "out_of_office"

    def find(self, item: Item, what: str, read: Callable[[object], T | None]) -> T | None:
        """Return the value at the paths of the field `what`."""
        return pick(item, self._places[what], read)

    def _event(self, meaning: Meaning, name: str | None, item: Item) -> Event:
        status = meaning.status
        if meaning.event == "lead_status_changed" and status is None:
            status = self.find(item, "label", status_of)
            meaning = meaning if status else OTHER
        first_name, last_name = self._names(item)
        object_id = self.find(item, "object_id", text)
        meeting = self._meeting(item) if meaning.event in MEETING_STATUSES else []
        # A notification about a mailbox or account names its owner, who is the client's user, not a lead.
        is_ours = meaning.inbound or meaning.event == "account_event"
        return Event(
            event=meaning.event,
            occurred_us=pick(item, self._times.get(meaning.event) or self._places["time"], parse_time),
            email=None if is_ours else self.find(item, "email", address),
            linkedin_url=None if is_ours else self.find(item, "linkedin", linkedin),
            status=status,
            kind=self._kind(meaning, item) if meaning.event == "email_bounced" else None,
            counts_as_sent=meaning.counts_as_sent,
            first_name=first_name,
            last_name=last_name,
            campaign=self.find(item, "campaign", text),
            campaign_id=self.find(item, "campaign_id", text),
            step=self.find(item, "step", text),
            link=self.find(item, "link", text) if meaning.event == "email_clicked" else None,
            message_id=self.find(item, "message", text),
            object_type=self.object_type if object_id else None,
            object_id=object_id,
            key=self.find(item, "key", text),
            source_event=name,
            changed=meeting,
        )

    def _meeting(self, item: Item) -> list[PropertyChange]:
        """Return a meeting's start, link and id, which the timeline shows with the event."""
        more = {name: self.find(item, name, text) for name in ("meeting_link", "meeting_id")}
        return meeting_changes(self.find(item, "meeting_start", parse_time), more)

    def _names(self, item: Item) -> tuple[str | None, str | None]:
        first_name, last_name = self.find(item, "first_name", text), self.find(item, "last_name", text)
        if first_name is None and last_name is None and self.full_name:
            return split_name(self.find(item, "full_name", text))
        return first_name, last_name

    def _kind(self, meaning: Meaning, item: Item) -> str:
        return meaning.kind or kind_of_bounce(item, self._places["bounce"])

    def _sure(self, item: Item, webhook: ParsedWebhook) -> int:
        for rule in self._shapes:
            if rule.tops <= item.keys() and self._fits(rule, item, webhook):
                return rule.shape.confidence
        return 0

    def _fits(self, rule: _CompiledRule, item: Item, webhook: ParsedWebhook) -> bool:
        shape = rule.shape
        if shape.header and shape.header not in webhook.headers:
            return False
        if not all(_shown(item, path) for path in rule.deep):
            return False
        if shape.starts and not (text(item[rule.first]) or "").startswith(shape.starts):
            return False
        if not shape.named and shape.spelt is None:
            return True
        name = self.named(item, webhook)
        if name is None or (shape.spelt is not None and not shape.spelt(name)):
            return False
        return not shape.named or self._listed(normalize_event_name(name)) is not None


class _CompiledRule:
    """A compiled detection rule: most bodies fail at once, because a top-level key is missing."""

    def __init__(self, shape: DetectionRule) -> None:
        keys = paths(shape.keys)
        self.shape = shape
        self.tops = frozenset(str(path[0]) for path in keys)
        self.deep = [path for path in keys if len(path) > 1]
        self.first = str(keys[0][0]) if keys else ""


_PLACES = (
    "name", "email", "time", "linkedin", "first_name", "last_name", "full_name", "campaign", "campaign_id", "step", "link", "message",
    "key", "label", "bounce", "automated", "reply_label", "object_id", "meeting_start", "meeting_link", "meeting_id",
)  # fmt: skip


def meeting_changes(start: Micros | None, more: Mapping[str, str | None] | None = None) -> list[PropertyChange]:
    """Return a meeting's start and its other details, which the timeline shows with the event."""
    values = {MEETING_START: to_text_or_none(start), **(more or {})}
    return [PropertyChange(name, value) for name, value in values.items() if value is not None]


def normalize_event_name(name: str) -> str:
    """Normalize an event name to the spelling of the tables."""
    return name.lower().translate(_PLAIN)


def accept_any_name(_: str) -> bool:
    """Accept any text as a name, for tools where others send an object."""
    return True


def _inner(item: object, key: str) -> list[object]:
    """Return the elements of an object's list with the members around it; an object without the list is an item itself."""
    inner = item.get(key) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(inner, list):
        return [item]
    around = {name: value for name, value in item.items() if name != key}
    return [{**around, **element} if isinstance(element, dict) else element for element in inner]


def _shown(item: object, path: Path) -> bool:
    """Return whether the last key of a path exists, even with null."""
    parent = at(item, path[:-1])
    return path[-1] in parent if isinstance(parent, dict) else False
