"""Problems: what went wrong with an event that was applied all the same, so that a person can find it and act.

An event carries its problems in its detail, under "problems": code -> what it is about. The delivery has all of its events'.
Whoever translates adds one with `note`, on the event's `problems`.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from touchbase.common.field_limits import STATUS, keepable

Problems = dict[str, str]
"""By code: what the problem is about, or an empty text."""

STATUS_REFUSED = "status_refused"
TIME_AHEAD = "time_ahead"

SENTENCES = {
    STATUS_REFUSED: (
        "the event asks for the status {about!r}, which the client's set does not have, so it set none: add it to the set, "
        "or give it another name with status_labels of the connection"
    ),
    TIME_AHEAD: (
        "the time of the event lies after its receipt, so the receipt counts: if the tool names no zone, set time_zone of the connection"
    ),
}
"""What happened and what to do, by code; a code that is here is listed, counted and shown."""


def note(problems: MutableMapping[str, str], code: str, about: str = "") -> None:
    """Add a problem; of two with one code the first stays."""
    assert code in SENTENCES
    problems.setdefault(code, keepable(about, STATUS) or "")


def sentence(code: str, about: str) -> str:
    """A problem in words; one of a later version is told by its code."""
    return SENTENCES[code].format(about=about) if code in SENTENCES else code


def told(problems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Problems as code and sentence, by code."""
    return [(code, sentence(code, about)) for code, about in sorted(problems.items())]
