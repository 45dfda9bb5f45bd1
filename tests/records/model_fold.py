"""What a record is, from the entries of its history: plain folds in the order of time, as the documentation says them.

Rules: docs/decisions/0003 (status), 0004 and 0026 (who sets a value, origin), docs/how-to/merge-two-people.md. Times are seconds.
This module imports nothing of the service.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NEW = ("new", "not contacted", "not contacted yet", "uncontacted", "to contact")
ADVANCED = ("interested", "customer", "won", "do_not_contact")
"""Statuses of a creation that a reply leaves, among those that the test sends."""
KEYS = {"contacts": ("email", "linkedin_url"), "companies": ("domain",)}
FIELDS = {
    "contacts": ("email", "linkedin_url", "first_name", "last_name", "origin", "company_id", "status"),
    "companies": ("domain", "name", "status"),
}
Values = dict[str, Any]
Key = tuple[str, str]
"""The name of a field, and a value in the form in which it is compared."""


@dataclass(frozen=True)
class Entry:
    """One entry of a history: a request, or an event of a campaign tool."""

    at: int
    turn: int
    """The order of entries of one time."""
    what: str
    """`create`, `write`, or the event's name."""
    sets: Values = field(default_factory=dict)
    """What a request names, None to unset; a custom field is `cf.NAME`."""
    clears: bool = False
    """Whether it removes all custom fields first."""
    email: str | None = None
    """The address that an event names."""
    carries: Values = field(default_factory=dict)
    """What an event carries along."""
    tool: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order of time."""
        return self.at, self.turn


def fold(entries: list[Entry], until: int | None = None) -> Values:
    """The values that these entries make, custom fields as `cf.NAME`; a value that is not set is not there."""
    history = sorted((item for item in entries if until is None or item.at <= until), key=lambda item: item.place)
    values: Values = {}
    decided: set[str] = set()
    for entry in history:
        if entry.clears:
            values = {name: value for name, value in values.items() if not name.startswith("cf.")}
        for name, value in entry.sets.items():
            if name != "status":
                decided.add(name)
                values.pop(name, None)
                if value is not None:
                    values[name] = value
        for name, value in entry.carries.items():
            if name not in decided and name not in values:
                values[name] = value
    if "origin" not in decided and history and history[0].tool:
        values["origin"] = history[0].tool
    values |= zip_set(("status", "previous", "changed"), walk(history))
    for name, event, pick in (("first_sent", "email_sent", min), ("last_sent", "email_sent", max), ("replied", "email_replied", max)):
        times = [entry.at for entry in history if entry.what == event]
        if times:
            values[name] = pick(times)
    return values


def first_keys(kind: str, entries: list[Entry]) -> dict[Key, str]:
    """The keys that a record shows, with their text."""
    values = fold(entries)
    return {(name, key): values[name] for name in KEYS[kind] if (key := normal(name, values.get(name))) is not None}


def zip_set(names: tuple[str, ...], values: tuple[Any, ...]) -> Values:
    """The values that are not None, by their names."""
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def walk(history: list[Entry]) -> tuple[str | None, str | None, int | None]:
    """The status, the one before it and when it changed (decision 3)."""
    status = previous = changed = None
    cause = ""
    for entry in history:
        if entry.what in ("create", "write"):
            if "status" not in entry.sets or (entry.what == "create" and entry.sets["status"] is None):
                continue
            wanted: str | None = entry.sets["status"]
        else:
            wanted = requested_status(entry.what, status, cause)
            if wanted is None:
                continue
        if wanted == status:
            # An unsubscription of one who is on "do_not_contact" already does not take over who had set it.
            cause = cause if entry.what == "email_unsubscribed" else entry.what
        elif status is None and entry.what == "create":
            status, cause = wanted, entry.what
        else:
            status, previous, changed, cause = wanted, status, entry.at, entry.what
    return status, previous, changed


def requested_status(event: str, status: str | None, cause: str) -> str | None:
    """The status that an event asks for, or None where it sets none."""
    word = (status or "").lower()
    stopped = cause == "email_unsubscribed"
    if event == "email_sent":
        return "contacted" if status is None or word in NEW else None
    if event == "email_replied":
        holds = cause == "write" or (cause == "create" and word in ADVANCED)
        return None if holds or stopped else "replied"
    if event == "email_bounced":
        return None if stopped or word == "do_not_contact" else "bounced"
    if event == "email_unsubscribed":
        return "do_not_contact"
    return None


def changes(entries: list[Entry], name: str) -> list[tuple[Any, int]]:
    """The values that a field had, each with the time since when, oldest first."""
    results: list[tuple[Any, int]] = []
    history = sorted(entries, key=lambda item: item.place)
    value = None
    for count, entry in enumerate(history, 1):
        now = fold(history[:count]).get(name)
        if now != value:
            results.append((now, entry.at))
            value = now
    return results


def normal(name: str, value: str | None) -> str | None:
    """The form in which addresses are compared."""
    if value is None:
        return None
    text = value.strip().lower()
    if name == "email":
        return text
    text = text.removeprefix("https://").removeprefix("http://")
    if name == "domain":
        return text.removeprefix("www.").partition("/")[0]
    text = text.partition("?")[0].rstrip("/")
    host, _, remaining = text.partition("/")
    return f"linkedin.com/{remaining}" if host.endswith("linkedin.com") else text
