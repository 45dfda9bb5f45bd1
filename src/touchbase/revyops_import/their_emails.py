"""Their e-mails as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchbase.clients.models import ClientSettings
from touchbase.common import field_limits as limits
from touchbase.common.html_text import text_of_html
from touchbase.common.timestamps import Micros, from_text
from touchbase.history.events import IMPORT
from touchbase.messages.models import EMAIL, MOST_CUSTOM_FIELDS, MOST_SUBJECT, RECEIVED, SENT, Message
from touchbase.revyops_import.their_records import TheirRecord

SENT_WORDS = frozenset({"sent", "send", "email sent", "outbound", "outgoing"})
RECEIVED_WORDS = frozenset({"reply", "replied", "received", "email reply", "email replied", "email received", "inbound", "incoming"})
"""Values of `email_type`: their document shows none."""
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": None}
_CUT = {"subject": MOST_SUBJECT, "body_text": limits.MESSAGE_TEXT, "body_html": limits.MESSAGE_TEXT}
"""Characters that are stored of long texts; the rest is left out with a notice."""
_SHORT = {"agent_email": "mailbox", "campaign_id": "campaign_id", "campaign_name": "campaign_name", "origin": "tool"}
_CUSTOM = "cf."


class Unreadable(ValueError):
    """An e-mail that cannot be stored; the message says why."""


def event_key(their_id: str) -> str:
    """Return the key of the event that an e-mail is in the history of its contact, by which a second import knows it."""
    return f"revyops-email:{their_id}"


def plain_type(word: str) -> str:
    """Return an `email_type` in lower case, with single spaces between its words."""
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())


def read_direction(word: str, given: Mapping[str, str]) -> str | None:
    """Return the direction of an `email_type`; None if it is not known. `given` are words of the operator, as `plain_type` has them."""
    plain = plain_type(word)
    if plain in given:
        return given[plain]
    return SENT if plain in SENT_WORDS else RECEIVED if plain in RECEIVED_WORDS else None


def message_of(theirs: TheirRecord, settings: ClientSettings, types: Mapping[str, str], now: Micros) -> tuple[Message, bool]:
    """Return the message that an e-mail is, and whether its time is its own; raise `Unreadable`."""
    if theirs.fault:
        raise Unreadable(theirs.fault)
    if not theirs.id or len(theirs.id) > limits.NAME:
        raise Unreadable("has no id of usual length, by which a second import knows it")
    values, faults = theirs.values, list[str]()
    for name, text in values.items():
        if (why := limits.why_not_storable(text)) is not None:
            faults.append(f"{name.removeprefix(_CUSTOM)}: {why}")
    direction = read_direction(values["email_type"], types)
    if direction is None:
        shown = values["email_type"].strip()[:40]
        faults.append(f"email_type: {shown!r} is not known; import again with --email-type '{shown}=sent' or '{shown}=reply'")
    interested = values["interested"].strip().lower()
    if interested not in _BOOLEANS:
        faults.append("interested: is neither true nor false")
    at, is_dated = _time(theirs, now, faults)
    texts = _texts(theirs, faults)
    custom = _custom_fields(values, faults)
    if faults or direction is None:
        raise Unreadable("; ".join(faults))
    if not settings.store_message_bodies:
        texts |= dict.fromkeys(("subject", "text", "html"))
    elif texts["text"] is None and texts["html"] is not None:
        texts["text"] = text_of_html(texts["html"])
    tool = texts.pop("tool") or IMPORT
    made = Message(
        id=0, direction=direction, channel=EMAIL, occurred_us=at, event_key=event_key(theirs.id), delivery_id=None, received_us=now,
        tool=tool, interested=_BOOLEANS[interested], custom=custom, **texts,
    )  # fmt: skip
    return made, is_dated


def _time(theirs: TheirRecord, now: Micros, faults: list[str]) -> tuple[Micros, bool]:
    """Return the time of an e-mail, and whether it is its own; without one it is that of the last change there."""
    own = theirs.values["email_timestamp"].strip()
    name = "email_timestamp" if own else "updated_time"
    text = own or theirs.values["updated_time"].strip()
    try:
        at = from_text(text.upper())
    except (ValueError, OverflowError):
        faults.append(f"{name}: must be a time such as 2026-11-20T09:30:00Z" if text else "email_timestamp: is missing")
        return now, True
    if at > now:
        faults.append(f"{name}: lies in the future")
    if not own:
        theirs.notices.append("emails: without email_timestamp; updated_time was taken in its place")
    return at, bool(own)


def _texts(theirs: TheirRecord, faults: list[str]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    for name, most in _CUT.items():
        value = theirs.values[name]
        if len(value) > most:
            theirs.notices.append(f"emails: of {name} only the first {most:,} characters were stored")
        texts[name.removeprefix("body_")] = limits.clean(value[:most])
    for name, ours in _SHORT.items():
        if len(theirs.values[name]) > limits.NAME:
            faults.append(f"{name}: must have at most {limits.NAME} characters")
        texts[ours] = limits.clean(theirs.values[name])
    return texts


def _custom_fields(values: Mapping[str, str], faults: list[str]) -> dict[str, str]:
    custom = {name.removeprefix(_CUSTOM): text.strip() for name, text in values.items() if name.startswith(_CUSTOM)}
    if len(custom) > MOST_CUSTOM_FIELDS:
        faults.append(f"custom_fields: must be at most {MOST_CUSTOM_FIELDS}")
    for name, text in custom.items():
        if not name or len(name) > limits.NAME or limits.why_not_storable(name) is not None:
            faults.append(f"custom_fields: the name {name[:40]!r} cannot be stored: it must have 1 to {limits.NAME} characters")
        if len(text) > limits.VALUE:
            faults.append(f"custom_fields: {name[:40]!r} must have at most {limits.VALUE} characters")
    return custom
