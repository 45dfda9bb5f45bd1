"""Status: computed from a record's history, the same for every order of arrival.

Every cause of a status is an *entry* with a time and a stable key. `advance` folds the entries in order of
(time, key). There are three kinds of entry:

- explicit ones (an API write, a CRM status, a lead label in the campaign tool) always set their status;
- campaign facts advance_status a fixed sequence: a sent mail sets "contacted" if the person is not contacted yet, a
  reply sets "replied" unless the person is further along, a hard bounce sets "bounced";
  a CRM's "New" only means that no one has worked on the person, so a reply replaces it like a sent mail;
- an unsubscribe or a complaint sets "do_not_contact"; a re-subscription reverts that only if an
  unsubscribe had set it.

A client may give a status another name (`history/status_words.py`); the rules follow what it means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.history.status_words import PLAIN, StatusWords

# Effects of entries. They are stored with the event, so their spelling must not change.
INITIAL = "initial"
STATUS = "status"
SENT = "sent"
REPLY = "reply"
BOUNCE = "bounce"
UNSUBSCRIBE = "unsubscribe"
COMPLAINT = "complaint"
RESUBSCRIBE = "resubscribe"

CRM_STATUS = "crm_status"
"""The effect of a CRM's event, stored as `STATUS`: only a fold of the whole history distinguishes it from API writes and labels."""

STATUS_EFFECTS = frozenset({INITIAL, STATUS, SENT, REPLY, BOUNCE, UNSUBSCRIBE, COMPLAINT, RESUBSCRIBE})


MOST_STATUSES = 200
"""The newest statuses that a record keeps with their times: reports of statuses over time begin with them."""


class HasStatus(Protocol):
    """A record with a folded status: contact or company."""

    created_us: Micros
    initial_status: str | None
    status: str | None
    previous_status: str | None
    status_changed_us: Micros | None
    status_entry_us: Micros | None
    status_entry_key: str | None
    status_cause: str | None
    status_path: str | None


@dataclass(slots=True)
class StatusWalk:
    """The state of a fold of the whole history, in addition to the record, which gets its `status_path` afterwards."""

    cause: str | None = None
    """The record's `status_cause`, but `CRM_STATUS` for a CRM's, and after a re-subscription the cause of the restored status."""
    previous_cause: str | None = None
    """Cause of the record's `previous_status`."""
    path: dict[str, str | None] = field(default_factory=dict)
    """As `with_status` extends it."""

    @property
    def status_path(self) -> str | None:
        """The path as text."""
        return _text_of(self.path)


def may_change_status(record: HasStatus, effect: str, at: Micros, key: str, words: StatusWords = PLAIN) -> bool:
    """Return whether `advance` can add an entry in one step, because it is after everything folded so far.

    False for a reply if the record does not show what it may replace: after a re-subscription, which restored a status of
    any cause, and if "New" may come from a CRM or from a person. False too while the record has a former name of a status, and for an
    entry from before the last rename.
    """
    if record.status_entry_us is None:
        return True
    if words.renames and (at < words.last_us or words.is_outdated(record)):
        return False
    if effect == REPLY and (record.status_cause == RESUBSCRIBE or (record.status_cause == STATUS and words.is_untouched(record.status))):
        return False
    return (at, key) > (record.status_entry_us, record.status_entry_key or "")


def advance_status(
    record: HasStatus, effect: str, status: str | None, at: Micros, key: str, walk: StatusWalk | None = None, words: StatusWords = PLAIN
) -> None:
    """Fold one entry, newer than all before it. Equal neighbours collapse into the first of them. `words` are those at its time."""
    record.status_entry_us, record.status_entry_key = at, key
    if words.names:
        status = words.of(status)
    if effect == RESUBSCRIBE:
        if record.status_cause == UNSUBSCRIBE:
            restored = None if walk is None else walk.previous_cause
            _set(record, record.previous_status, effect, at, walk)
            if walk is not None:
                walk.cause = restored
        return
    if not _may_replace(record, effect, record.status_cause if walk is None else walk.cause, words):
        return
    if status == record.status:
        # A complaint after an unsubscribe is final; an unsubscribe after anything firmer is not the cause.
        if effect != UNSUBSCRIBE:
            _set_cause(record, effect, walk)
        return
    if effect == INITIAL and record.status is None:
        record.status = status
        _extend(record, at, status, walk)
        _set_cause(record, effect, walk)
        return
    _set(record, status, effect, at, walk)


def why_ignored(record: HasStatus, effect: str, status: str | None, walk: StatusWalk, words: StatusWords = PLAIN) -> str | None:
    """Return why `advance_status` would leave the status as it is after this entry, in a sentence; None if it would set it."""
    present = record.status or ""
    if effect == RESUBSCRIBE:
        return (
            None if record.status_cause == UNSUBSCRIBE else f"a re-subscription reverts an unsubscribe only; {present!r} was set otherwise"
        )
    if not _may_replace(record, effect, walk.cause, words):
        return _UNCHANGED[effect].format(present)
    return f"the status was {present!r} already" if words.of(status) == record.status else None


_UNCHANGED = {
    SENT: "a sent mail sets a status only on somebody who was not contacted yet; {!r} is further along",
    REPLY: "a reply does not replace {!r}: a person, a CRM or an opt-out has set it, or it is further along",
    BOUNCE: "a bounce does not replace {!r}",
}
"""By effect: why it does not replace the present status."""


def restart_status(record: HasStatus) -> None:
    """Reset the folded status, before a fold of the whole history."""
    record.status = record.previous_status = record.status_cause = record.status_entry_key = record.status_path = None
    record.status_changed_us = record.status_entry_us = None


_decode_path = msgspec.json.Decoder(dict[str, str | None]).decode
_decode_times = msgspec.json.Decoder(dict[int, str | None]).decode


def path_of(text: str | None, words: StatusWords = PLAIN) -> dict[Micros, str | None]:
    """Return the statuses that a record has had by their present names, each with its beginning, in order of time.

    The text has the names of the time when it was written. Two statuses that a merge made one are one.
    """
    written: dict[Micros, str | None] = {} if text is None else _decode_times(text)
    if not words.names:
        return written
    path: dict[Micros, str | None] = {}
    last: str | None = None
    for at, status in written.items():
        if words.of(status) != last:
            path[at] = last = words.of(status)
    return path


def with_status(text: str | None, at: Micros, status: str | None) -> str | None:
    """Return a status path with one more status, later than all others; of several at the same time the last one counts.

    It has the newest `MOST_STATUSES`: each change of a record writes it.
    """
    path = {} if text is None else _decode_path(text)
    _add_status(path, at, status)
    return _text_of(path)


def _add_status(path: dict[str, str | None], at: Micros, status: str | None) -> None:
    path.pop(str(at), None)
    if (next(reversed(path.values())) if path else None) != status:
        path[str(at)] = status
    while len(path) > MOST_STATUSES:
        del path[next(iter(path))]


def _text_of(path: dict[str, str | None]) -> str | None:
    return msgspec.json.encode(path).decode() if path else None


def _extend(record: HasStatus, at: Micros, status: str | None, walk: StatusWalk | None) -> None:
    if walk is None:
        record.status_path = with_status(record.status_path, at, status)
    else:
        _add_status(walk.path, at, status)


def _set(record: HasStatus, status: str | None, effect: str, at: Micros, walk: StatusWalk | None) -> None:
    record.previous_status, record.status, record.status_changed_us = record.status, status, at
    _extend(record, at, status, walk)
    if walk is not None:
        walk.previous_cause = walk.cause
    _set_cause(record, effect, walk)


def _set_cause(record: HasStatus, effect: str, walk: StatusWalk | None) -> None:
    record.status_cause = STATUS if effect == CRM_STATUS else effect
    if walk is not None:
        walk.cause = effect


def _may_replace(record: HasStatus, effect: str, cause: str | None, words: StatusWords) -> bool:
    if effect == SENT:
        return record.status is None or words.is_untouched(record.status)
    if effect == REPLY:
        if cause == INITIAL:
            return not words.is_further_along(record.status)
        return words.is_untouched(record.status) if cause == CRM_STATUS else cause not in (STATUS, UNSUBSCRIBE, COMPLAINT)
    if effect == BOUNCE:
        return cause not in (UNSUBSCRIBE, COMPLAINT) and not words.protects(record.status)
    return True
