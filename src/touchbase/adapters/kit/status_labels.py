"""Mapping of lead labels to our statuses, and of servers' bounce reasons to bounce kinds."""

from __future__ import annotations

import re

from touchbase.adapters.kit.body_paths import Path, at, paths
from touchbase.adapters.kit.extract import first, text

STATUS_WORDS = {
    "interested": "interested|positive|positive reply|positive response|marked as interested|lead interested",
    "not_interested": (
        "not interested|notinterested|uninterested|no interest|negative|negative reply|negative response|lead not interested|hard no"
    ),
    "neutral": "neutral",
    "maybe_later": ("maybe later|later|not now|not right now|interested later|follow up later|contact later|asked to circle back later"),
    "meeting_booked": "meeting booked|meeting scheduled|demo booked|demo scheduled|call booked|booked|meeting set",
    "meeting_completed": "meeting completed|meeting done|meeting held|demo completed|demo done",
    "no_show": "no show|noshow|meeting no show",
    "out_of_office": (
        "out of office|ooo|out of the office|automatic reply|auto reply|autoreply|automated reply|auto response|automatic response"
    ),
    "wrong_person": "wrong person|wrong contact|not the right person|not right person",
    "closed": "closed|won|closed won|deal won",
    "do_not_contact": (
        "do not contact|donotcontact|dnc|blacklisted|blacklist|blocklisted|blocklist|unsubscribed|unsubscribe|opted out|lead opted out"
    ),
}
"""Our statuses, and the labels that tools use for them."""

_MAX_LABEL_LENGTH = 200
_MAX_LABELS = 50
_NAMES = ("new_name", "newName", "name", "label", "title", "displayName", "display_name", "value")
"""Keys that hold the name of an object that represents a label."""
_NO_LABEL = frozenset({"none", "null", "undefined"})
_BY_LABEL = {label: status for status, labels in STATUS_WORDS.items() for label in labels.split("|")}
_NON_LETTERS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_HARD = re.compile(
    r"(?:\b|_)(?:hard|permanent|invalid|bad_?mailbox|non-?existent|(?:does|do) ?n[o'\u2019]t exist|no such user|user unknown"
    r"|unknown (?:user|recipient)|unroute?able address"
    r"|(?:address|user|recipient|mailbox|domain(?: name)?) (?:(?:was |is )?not|(?:could|can) ?n[o'\u2019]t be) found)",
    re.IGNORECASE,
)
_SOFT = re.compile(
    r"(?:\b|_)(?:soft(?!ware)|temporar|transient|block(?:ed|s|ing|list|listed)?(?![a-z])|greylist|try again"
    r"|(?:mail|in)box ?(?:is )?full|over ?(?:the )?quota|quota exceeded|(?:too large|exceed\w{0,8}(?: \w+){0,3} size|size exceed)"
    r"|(?:as|likely|probable|suspected|considered|probability of) spam\b|spam (?:content|detected|message)|policy reasons"
    r"|sender (?:address )?(?:rejected|denied)|too many (?:connections|messages))",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"(?<![\d.])5\.(?:[367]\.\d{1,3}|2\.[23])\b")
"""A server's code for an email rejected by policy, by its content or size, or by a full mailbox: the address may work."""
_CODE = re.compile(r"(?<![\d.])([45])(?:\d\d\b|\.\d{1,3}\.\d{1,3}\b)")


def words(label: str) -> str:
    """Split a name into lower-case words: `emailsSent`, `EMAIL-SENT` and `Email sent` give the same result."""
    return _NON_LETTERS.sub(" ", _CAMEL.sub(" ", label)).strip().lower()


def label_of(value: object) -> str | None:
    """Return a label's display text: a text, an object's name, or of several labels the first known one, else the first.

    A number is an id and no label; a word for none means that a label was removed, and gives None.
    """
    if isinstance(value, list):
        several = [label for item in value[:_MAX_LABELS] if not isinstance(item, list) and (label := label_of(item))]
        return next((label for label in several if words(label) in _BY_LABEL), several[0] if several else None)
    if isinstance(value, dict):
        value = first(value, *_NAMES)
    string = text(value) if isinstance(value, str) else None
    plain = "" if string is None else words(string)
    return None if plain in _NO_LABEL or plain.replace(" ", "").isdecimal() else string


def status_of(label: object) -> str | None:
    """Return our status for a label; an unknown label becomes `custom:<label>`."""
    named = label_of(label)
    if named is None:
        return None
    return _BY_LABEL.get(words(named)) or f"custom:{named.removeprefix('custom:')[:_MAX_LABEL_LENGTH]}"


def bounce_kind(*reasons: object) -> str:
    """Return hard, soft or unknown, from the first conclusive text; server codes decide if no words do."""
    texts = [reason_text for reason in reasons if (reason_text := text(reason))]
    for reason_text in texts:
        if _SOFT.search(reason_text):
            return "soft"
        if _HARD.search(reason_text):
            return "hard"
    if any(map(_REFUSED.search, texts)):
        return "soft"
    codes = [match[1] for reason_text in texts if (match := _CODE.search(reason_text))]
    return {"5": "hard", "4": "soft"}[codes[0]] if codes else "unknown"


_ANSWERS = paths(
    "failure_message error error_message smtp_response smtp_reply smtp_error diagnostic_code diagnosticCode bounce_message bounceMessage "
    "bounce_description details bounce.diagnosticCode bounce.bouncedRecipients.0.status bounce.bouncedRecipients.0.diagnosticCode "
    "data.failure_message data.error data.smtp_response data.bounce.message"
)
"""Paths of a mail server's answer."""
_NOTICES = paths("reply_text reply_text_snippet text_body text body snippet message.text message.body reply.text data.text data.body")
"""Paths of a bounce notice's text. Only a code counts there: the words may be quoted from the mail that bounced."""
_ENHANCED_CODE = re.compile(r"(?<![\d.])[45]\.\d{1,3}\.\d{1,3}\b")
_LONGEST_NOTICE = 20_000


def kind_of_bounce(item: object, types: tuple[Path, ...]) -> str:
    """Return hard, soft or unknown: by the values at the tool's own paths, then by a server's answer, then by the code in a notice."""
    for places in (types, _ANSWERS):
        kind = bounce_kind(*(at(item, path) for path in places))
        if kind != "unknown":
            return kind
    notices = (text(at(item, path)) for path in _NOTICES)
    codes = (match[0] for notice in notices if notice and (match := _ENHANCED_CODE.search(notice[:_LONGEST_NOTICE])))
    return next(map(bounce_kind, codes), "unknown")
