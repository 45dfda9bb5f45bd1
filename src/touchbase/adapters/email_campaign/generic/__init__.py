"""Generic campaign adapter: reads a body that no tool's adapter recognises, by the usual meaning of its keys.

The event's name decides what happened, never the texts in the body. The person is searched for under the usual keys of
a lead, never among the sender's addresses. An unclear event is `unknown`: stored and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from touchbase.adapters.email_campaign.generic import field_paths
from touchbase.adapters.email_campaign.generic.channel import meaning_on_channel
from touchbase.adapters.email_campaign.generic.declared import apply_declared, declared_meaning, declared_values
from touchbase.adapters.email_campaign.generic.spelling import path_as_written, with_normalized_keys
from touchbase.adapters.email_campaign.generic.split import split_events
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import Path, at, paths, pick
from touchbase.adapters.kit.body_shapes import is_form
from touchbase.adapters.kit.client_overrides import override_status
from touchbase.adapters.kit.crm_values import declared_elements, declared_row, list_in, query_parameter
from touchbase.adapters.kit.declarative import Item, batch, meeting_changes
from touchbase.adapters.kit.event_types import Meaning, meaning_of
from touchbase.adapters.kit.extract import address, flag, linkedin, personal_address, split_name, text
from touchbase.adapters.kit.messages import (
    DAEMONS,
    SENDER,
    USUAL_RECEIVED,
    USUAL_SENT,
    MessagePaths,
    MessageReader,
    is_machine_mail,
    is_message,
)
from touchbase.adapters.kit.opt_outs import meaning_of_preferences
from touchbase.adapters.kit.people import WRITERS, addresses_in, is_own, own_ids, people_in_lists, person_of, with_stripped_role
from touchbase.adapters.kit.status_labels import kind_of_bounce, label_of, status_of, words
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros
from touchbase.history.events import EMAIL_CAMPAIGN, MEETING_STATUSES, Event

T = TypeVar("T")
_MESSAGES = MessageReader(USUAL_SENT, USUAL_RECEIVED.before(MessagePaths(text="content message")))
_TEXTS = paths("message text body reply content last_reply last_message")
_NO_NAMES = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "EVENT", "WEBHOOK", "NOTIFICATION"})
_NAMING = ("-event", "-event-type")
_ID = "id"
_NO_ZONE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]*)?")
_INCOMING = frozenset({"email_replied", "email_auto_replied"})
_OUTGOING = frozenset({"email_sent", "manual_email_sent", "email_delivered", "email_deferred", "email_opened", "email_clicked"})
_BOOKING = re.compile(r"booking|appointment|meeting|invitee")
"""Beginnings of the members of a body about a meeting, whose event's name may only be a verb."""
_OF_MEETING = {"meeting_booked": m.MEETING_BOOKED, "no_show": m.MEETING_MISSED}
"""Statuses of a lead that are a meeting's event next to its start."""
_MESSAGES_OF_BOTH = frozenset({"message", "new message", "message new", "message created", "chat message"})
"""Names of events about a message of either side."""
_FATES = (_OUTGOING - {"manual_email_sent"}) | {"email_bounced", "email_send_failed", "email_unsubscribed", "email_spam_complaint"}


class GenericCampaigns:
    """Reads any JSON or form body, with a lower confidence than any tool's own adapter."""

    tool = "generic"
    channel = EMAIL_CAMPAIGN
    detection_keys: frozenset[str] = frozenset()

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return a confidence just high enough to be used if no other adapter recognises the webhook."""
        return 1 if isinstance(webhook.data, dict | list) else 0

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return the body's events; an empty body has none."""
        if list_in(webhook.settings.fields) is not None:
            bodies = webhook.data if isinstance(webhook.data, list) else [webhook.data]
            return [event for body in bodies for event in _declared_events(body, webhook)]
        pairs = split_events(webhook.data)
        events: list[Event] = []
        for pair in pairs:
            events += [Event("unknown")] if pair is None else _EventReader(*pair, webhook, len(pairs) == 1).final_events()
        return events


class _EventReader:
    """Reads one event: its own keys, its wrapper's keys, and the headers."""

    def __init__(self, item: Item, outer: Item, webhook: ParsedWebhook, is_only: bool, row: dict[str, object] | None = None) -> None:
        fields = webhook.settings.fields
        if row is None:
            row = declared_values(fields, item, outer, webhook.data if is_only else None) if fields else {}
        self.declared = row
        self.raw = {**outer, **item}
        self.used: dict[str, list[Path]] = {}
        """Paths of values that were read by their usual keys, by the mapping's name of the field."""
        self.roles: dict[int, str] = {}
        self.outer = with_normalized_keys(outer) if outer else outer
        item = with_normalized_keys(item)
        self.item = {**self.outer, **item} if outer else item
        self.call = webhook
        self.own_ids = own_ids(self.item)
        self.people = self._people(field_paths.PEOPLE)
        self.is_named = False
        """Whether the body says which person it is about, beyond its recipients."""

    def _people(self, roles: tuple[str, ...]) -> list[Item]:
        people = [(role, person_of(with_normalized_keys(person))) for role in roles if isinstance(person := self.item.get(role), dict)]
        self.roles |= {id(person): role for role, person in people}
        return [person for _, person in people if not is_own(person, self.own_ids)]

    def _pick(self, name: str, places: tuple[Path, ...], read: Callable[[object], T | None]) -> T | None:
        return pick(self.item, places, read, self.used.setdefault(name, []))

    def _inferred(self) -> dict[str, str]:
        """Return the paths of `used` as the body writes them."""
        written = {name: path_as_written(self.raw, used[0]) for name, used in self.used.items() if used and name not in self.declared}
        return {name: path for name, path in written.items() if path is not None}

    def _less_certain_people(self, meaning: Meaning) -> list[Item]:
        """Return candidates for the person of a body that has none of the usual keys."""
        writers = self._people(WRITERS) if meaning.event in _INCOMING else []
        stripped = person_of(with_stripped_role(self.item))
        return [*writers, *people_in_lists(self.item, self.own_ids)[:1], *self._people(("user",)), stripped]

    def final_events(self) -> list[Event]:
        """Return the event, once for each recipient if it has several."""
        event = self.final_event()
        if event.email is None or event.event in _INCOMING or self.is_named:
            return [event]
        others = [email for email in self._recipients() if email != event.email]
        if not others or len(others) == len(self._recipients()) or event.email == pick(self.item, field_paths.PLAIN, address):
            return [event]
        if event.event in ("email_opened", "email_clicked"):
            # One of several has opened the mail, and nothing says which.
            return [Event("other", source_event=event.source_event)]
        return [event, *(replace(event, email=email, first_name=None, last_name=None, linkedin_url=None) for email in others)]

    def _recipients(self) -> list[str]:
        """Return the recipients of the first list of them, without the client's own addresses."""
        ours = self._addresses(field_paths.OURS)
        lists = (addresses_in(at(self.item, path)) for path in field_paths.SEVERAL)
        return next(([email for email in several if email not in ours] for several in lists if several), [])

    def final_event(self) -> Event:
        event = self.event()
        if self.declared:
            apply_declared(event, self.call.settings, self.declared)
        event.inferred = self._inferred()
        if is_message(event):
            event.message = _MESSAGES.read(event, self.item)
        if self.call.settings.status_labels:
            override_status(event, self.call.settings, pick(self.item, field_paths.LABEL, label_of), event.source_event)
        return event

    def event(self) -> Event:
        name = self._name()
        meaning = self._without_name() if name is None else self._meaning(name)
        email, profile = self._email(meaning), self._of_person("linkedin_url", field_paths.LINKEDIN, linkedin)
        if email is None and profile is None and meaning.event != "account_event":
            self.people += self._less_certain_people(meaning)
            email, profile = self._email(meaning), self._of_person("linkedin_url", field_paths.LINKEDIN, linkedin)
        meaning = meaning_on_channel(meaning, name, self.item, only_a_profile=email is None and profile is not None)
        status = meaning.status
        if meaning.event == "lead_status_changed" and status is None:
            status = self._pick("status", field_paths.LABEL, status_of)
            meaning = meaning if status else m.OTHER
        first_name, last_name = self._names()
        return Event(
            event=meaning.event,
            occurred_us=self._time(meaning.event),
            email=email,
            linkedin_url=profile,
            status=status,
            kind=self._kind(meaning) if meaning.event == "email_bounced" else None,
            first_name=first_name,
            last_name=last_name,
            campaign=self._campaign(),
            campaign_id=self._pick("campaign_id", field_paths.CAMPAIGN_ID, text),
            step=pick(self.item, field_paths.STEP_NUMBER, text),
            link=pick(self.item, field_paths.LINK, text) if meaning.event == "email_clicked" else None,
            message_id=pick(self.item, field_paths.MESSAGE, text),
            source_event=name,
            changed=meeting_changes(self._meeting_start()) if meaning.event in MEETING_STATUSES else [],
        )

    def _name(self) -> str | None:
        """Return the event's name; the wrapper's takes precedence, because a nested `type` usually describes the object."""
        behind = query_parameter(self.call.request.query, "event")
        if behind is not None and meaning_of(behind) is not m.UNKNOWN:
            return behind
        if (declared := text(self.declared.get("event"))) is not None:
            return declared
        for source in (self.outer, self.item):
            name = pick(source, field_paths.NAME, _name, self.used.setdefault("event", []))
            if name is not None:
                return name if self._has_meaning(name) else self._name_with_meaning() or name
            both = [part for key in ("event_object", "event_action") if (part := text(source.get(key)))]
            if both:
                return " ".join(both)
        named = (text(value) for header, value in self.call.headers.items() if header.startswith("x-") and header.endswith(_NAMING))
        return next((name for name in named if name), None) or self._outcome()

    def _has_meaning(self, name: str) -> bool:
        return meaning_of(name) is not m.UNKNOWN or declared_meaning(self.call.settings, name) is not None

    def _name_with_meaning(self) -> str | None:
        """Return the first name with a meaning, of the members that hold nothing but an event's name."""
        return pick(self.item, field_paths.EVENT_NAME, self._meaningful, self.used.setdefault("event", []))

    def _meaningful(self, value: object) -> str | None:
        return name if (name := _name(value)) is not None and self._has_meaning(name) else None

    def _outcome(self) -> str | None:
        """Return the outcome of an unnamed email report, which is only in its `status`."""
        outcome = text(self.item.get("status")) if pick(self.item, field_paths.MAIL, text) else None
        return outcome if outcome and meaning_of(outcome).event in _FATES else None

    def _meaning(self, name: str) -> Meaning:
        if (declared := declared_meaning(self.call.settings, name)) is not None:
            return declared
        meaning = meaning_of(name)
        if words(name) in _MESSAGES_OF_BOTH and self.own_ids and any(_ID in writer for writer in self._writers()):
            meaning = m.REPLIED
        if meaning.event in _INCOMING and self._went_out():
            return m.MANUAL
        if meaning.event == "email_replied" and self._is_automated():
            return m.AUTO_REPLIED
        return self._refined(meaning, name)

    def _refined(self, meaning: Meaning, name: str) -> Meaning:
        """Return a meaning that only another member of the body completes: a status, a severity, the topics that changed."""
        if meaning is m.UNKNOWN and self._meeting_start() is not None and any(map(_BOOKING.match, self.item)):
            verb = words(name).rpartition(" ")[2]
            booked = (meaning_of(f"booking {verb}"), meaning_of(f"booking {verb}d"))
            return next((of_meeting for of_meeting in booked if of_meeting.event in MEETING_STATUSES), meaning)
        if meaning is m.OTHER and words(name).endswith("status"):
            fate = meaning_of(text(self.item.get("status")) or "")
            return fate if fate.event in _FATES else meaning
        if (of_meeting := _OF_MEETING.get(meaning.status or "")) is not None and self._meeting_start() is not None:
            return of_meeting
        if meaning is m.PREFERENCES:
            return meaning_of_preferences(self.item)
        if meaning.event == "email_send_failed":
            how = str(self.item.get("severity") or self.item.get("failure_type")).lower()
            return {"permanent": m.HARD_BOUNCED, "temporary": m.DEFERRED}.get(how, meaning)
        return meaning

    def _meeting_start(self) -> Micros | None:
        return pick(self.item, field_paths.MEETING_START, parse_time)

    def _without_name(self) -> Meaning:
        """Return the meaning of an unnamed body: a reply by its flag, newest message or text, an email by its step, a form."""
        messages = batch(self.item.get("recent_messages"))
        is_reply = flag(self.item.get("is_reply")) or (bool(messages) and flag(at(messages[-1], ("is_reply",))))
        has_reply = any(isinstance(self.item.get(key), dict) for key in ("reply", "reply_message"))
        has_sent = any(self.item.get(key) for key in ("sent_message", "sent_at", "time_sent", "sent"))
        if is_reply or (has_reply and not has_sent):
            return m.AUTO_REPLIED if self._is_automated() else m.REPLIED
        step = pick(self.item, field_paths.STEP, text) or ""
        if "email" in step.lower() and not has_reply:
            return m.SENT
        return m.SAVED if is_form(self.call.data) or self._is_profile() else m.UNKNOWN

    def _is_profile(self) -> bool:
        """Return whether an unnamed body is a person's profile, and says nothing of a campaign or a message."""
        says_more = pick(self.item, field_paths.CAMPAIGN_NAME + field_paths.CAMPAIGN_ID + _TEXTS, text)
        has_profile = self._of_person("linkedin_url", field_paths.LINKEDIN, linkedin) is not None
        return has_profile and says_more is None and pick(self.item, field_paths.PROFILE, text) is not None

    def _went_out(self) -> bool:
        """Return whether a message of a conversation is outbound, for tools with one event name for all messages."""
        direction = pick(self.item, field_paths.DIRECTION, text) or ""
        if direction.lower().startswith("out") or any(flag(at(self.item, path)) for path in field_paths.FROM_US):
            return True
        return any(is_own(writer, self.own_ids) for writer in self._writers())

    def _writers(self) -> list[Item]:
        return [writer for role in WRITERS if isinstance(writer := self.item.get(role), dict)]

    def _is_automated(self) -> bool:
        if any(flag(at(self.item, path)) for path in field_paths.AUTOMATED):
            return True
        return is_machine_mail(self.item) or pick(self.item, field_paths.REPLY_LABEL, status_of) == "out_of_office"

    def _email(self, meaning: Meaning) -> str | None:
        if (declared := address(self.declared.get("email"))) is not None:
            self.is_named = True
            return declared
        writer = pick(self.item, SENDER, address) or ""
        is_notice = meaning.event == "email_bounced" and writer.startswith(DAEMONS)
        ours = self._addresses(field_paths.OURS + field_paths.NOTICE_TO if is_notice else field_paths.OURS)

        def theirs(value: object) -> str | None:
            email = personal_address(value)
            return None if email in ours else email

        named = self._pick("email", field_paths.LEAD, theirs) or self._first("email", self.people, field_paths.ADDRESS, theirs)
        if named is not None or meaning.event == "account_event":
            self.is_named = True
            return named
        ranks = (SENDER, field_paths.RECIPIENT) if meaning.event in _INCOMING and self._names_its_writer() else (field_paths.RECIPIENT,)
        email = next((email for order in ranks if (email := self._pick("email", order, theirs))), None)
        if email is not None:
            return email
        # On a reply `to` is the client's own address; on an outbound message it is the lead's.
        ranks_left = (field_paths.PLAIN, SENDER, field_paths.TO) if meaning.event in _INCOMING else (field_paths.TO, field_paths.PLAIN)
        email = next((email for order in ranks_left if (email := self._pick("email", order, theirs))), None)
        if email is None and meaning.event not in _INCOMING:
            email = next(filter(None, map(theirs, self._recipients())), None)
        return None if meaning.event in _OUTGOING and email == writer and pick(self.item, field_paths.TO, address) is None else email

    def _names_its_writer(self) -> bool:
        """Return whether a reply's name belongs to its author rather than its recipient: tools name the person."""
        return pick(self.item, field_paths.SENDER_NAME, text) is not None and pick(self.item, field_paths.TO_NAME, text) is None

    def _addresses(self, where: tuple[Path, ...]) -> set[str]:
        return {email for path in where if path[0] in self.item and (email := address(at(self.item, path)))}

    def _time(self, event: str) -> Micros | None:
        """Return the first time that has a zone, else the first."""
        is_record = any(path[0] in self.item for path in field_paths.CHANGED)
        first: Micros | None = None
        used = self.used.setdefault("occurred_at", [])
        for path in (*field_paths.TIME, *field_paths.ITS_TIME.get(event, ()), *field_paths.OTHER_TIME, *field_paths.CHANGED):
            value = at(self.item, path) if path[0] in self.item and not (is_record and path in field_paths.CREATED_AT) else None
            if value is not None and (time := parse_time(value)) is not None:
                if not (isinstance(value, str) and _NO_ZONE.fullmatch(value.strip())):
                    used.insert(0, path)
                    return time
                first = time if first is None else first
                used.append(path)
        return first if first is not None else self._time_inside(event)

    def _time_inside(self, event: str) -> Micros | None:
        """Return the first time in an object of the event, or the person's time of this kind of event, such as `unsubscribed_at`."""
        inside = [value for name in field_paths.INSIDE if isinstance(value := self.item.get(name), dict)]
        times = [parse_time(value.get(key)) for value in inside for key in field_paths.INSIDE_TIME]
        times += [parse_time(at(person, path)) for person in self.people for path in field_paths.ITS_TIME.get(event, ())]
        return next((time for time in times if time is not None), None)

    def _names(self) -> tuple[str | None, str | None]:
        first_name = self._of_person("first_name", field_paths.FIRST_NAME, text)
        last_name = self._of_person("last_name", field_paths.LAST_NAME, text)
        if first_name is None and last_name is None:
            return split_name(self._of_person("name", field_paths.FULL_NAME, text) or self._first("name", self.people, ("name",), text))
        if first_name is None:
            # Beside a last name, `name` is the first name alone, or both.
            first_name = (self._first("name", self.people, ("name",), text) or "").removesuffix(last_name or "").strip() or None
        return first_name, last_name

    def _campaign(self) -> str | None:
        number = pick(self.item, field_paths.CAMPAIGN_ID, text)
        name = self._pick("campaign", field_paths.CAMPAIGN_NAME, text)
        # A bare `name` is the campaign's only next to a campaign id: elsewhere it may be the person's.
        return name or (number and text(self.item.get("name"))) or number

    def _kind(self, meaning: Meaning) -> str:
        return meaning.kind or kind_of_bounce(self.item, field_paths.BOUNCE)

    def _of_person(self, name: str, keys: tuple[str, ...], read: Callable[[object], T | None]) -> T | None:
        return self._first(name, [self.item, *self.people], keys, read)

    def _first(self, name: str, sources: list[Item], keys: tuple[str, ...], read: Callable[[object], T | None]) -> T | None:
        for source in sources:
            for key in keys:
                value = source.get(key)
                if value is not None and (result := read(value)) is not None:
                    role = self.roles.get(id(source))
                    self.used.setdefault(name, []).append((key,) if role is None else (role, key))
                    return result
        return None


def _declared_events(body: object, webhook: ParsedWebhook) -> list[Event]:
    """Return an event for each element of the list that the client's declared paths name."""
    if not isinstance(body, dict):
        return [Event("unknown")]
    fields = webhook.settings.fields
    around: Item = {name: value for name, value in body.items() if not isinstance(value, list)}
    events: list[Event] = []
    for element in declared_elements(body, fields):
        row = {name: value for name, value in declared_row(body, fields, element).items() if value is not None}
        events += _EventReader(element if isinstance(element, dict) else {}, around, webhook, False, row).final_events()
    return events


def _name(value: object) -> str | None:
    string = text(value) if isinstance(value, str) else None
    return None if string is None or string.upper() in _NO_NAMES else string


ADAPTER = GenericCampaigns()
