"""Problems of events that were applied all the same, so that a person can find and fix their cause.

An event has its problems in its detail, under "problems": code -> subject. A delivery has those of all its events.
An adapter adds one to the event's `problems` with `add_problem`.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from touchbase.common.field_limits import STATUS, storable

Problems = dict[str, str]
"""By code: the problem's subject, or an empty text."""

STATUS_REFUSED = "status_refused"
FIELDS_LEFT_OUT = "fields_left_out"
HTML_UNREAD = "html_unread"
OTHER_PERSON = "other_person"
ROWS_UNIDENTIFIED = "rows_unidentified"
TIME_AHEAD = "time_ahead"
VALUE_TYPE = "value_type"

SENTENCES = {
    FIELDS_LEFT_OUT: (
        "custom fields of the event were left out: {about}. One record has at most 256 KB and 500 fields from one event: "
        "send fewer or shorter ones, or choose the fields in the tool"
    ),
    STATUS_REFUSED: (
        "the event asks for the status {about!r}, which the client's set does not have, so it set none: add it to the set, "
        "or merge it into one of the set, and it is applied"
    ),
    HTML_UNREAD: (
        "the webhook has more than 2 million characters of HTML in messages without a plain text, so this message is stored with its HTML "
        "and without a text: have the tool send the plain text too, or fewer messages at a time"
    ),
    OTHER_PERSON: (
        "the event names two records, which are not joined without you: one by its object or another address, and one that has {about}: "
        "merge them if they are one person or company, else correct the address in the tool"
    ),
    ROWS_UNIDENTIFIED: (
        "{about} of the webhook's rows or recipients name no person or company, so nothing was stored of them: if they should, give their "
        "path in `fields` of the connection, and replay it"
    ),
    TIME_AHEAD: (
        "the time of the event lies after its receipt, so the receipt counts: if the tool names no zone, set time_zone of the connection"
    ),
    VALUE_TYPE: (
        "the value of the custom field {about!r} is not of the type that the client declared; it is stored as it came: correct it in the "
        "tool, or change the field's type"
    ),
}
"""By code: the problem and its cure; these codes are listed, counted and shown."""


def add_problem(problems: MutableMapping[str, str], code: str, about: str = "") -> None:
    """Add a problem; the first of each code stays."""
    assert code in SENTENCES
    problems.setdefault(code, storable(about, STATUS) or "")


def sentence(code: str, about: str) -> str:
    """Return a problem in words; the code for one of a later version."""
    return SENTENCES[code].format(about=about) if code in SENTENCES else code


def described(problems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return problems as code and sentence, sorted by code."""
    return [(code, sentence(code, about)) for code, about in sorted(problems.items())]
