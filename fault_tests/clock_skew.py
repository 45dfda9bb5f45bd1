"""Webhooks dated from the past to the future, and the records they must give for any clock and any order of arrival."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.journal import Journal
from fault_tests.writers import CONTACTS, body_of
from touchbase.common.timestamps import DAY, SECOND, from_text, to_text

PEOPLE, EVENTS = 12, 15
FIRST, LAST = 0, from_text("2100-12-31T23:59:59Z")
YEARS: int = 5 * 365 * DAY
KINDS = ("email_sent", "email_sent", "reply_received", "lead_interested", "lead_not_interested", "lead_meeting_booked", "email_opened")
SERVER_FIELDS = ("id", "created_time", "updated_time", "delivery_id", "company_id", "message_id")
"""Fields that depend on the time or the order of writes and are not compared."""
PAGE = 7


@dataclass(frozen=True, slots=True)
class DatedWebhook:
    """One webhook: its person, event, event time and time of arrival."""

    email: str
    kind: str
    at_us: int
    received_us: int

    @property
    def effective_us(self) -> int:
        """The effective event time; an event more than a day in the future counts as of its arrival."""
        return self.received_us if self.at_us > self.received_us + DAY else self.at_us


def dated_webhooks(rng: random.Random) -> list[DatedWebhook]:
    """Make webhooks in order of arrival, from five years ago to five years ahead."""
    now = time.time_ns() // 1000
    moments = sorted(rng.sample(range(now - YEARS, now + YEARS, SECOND), PEOPLE * EVENTS))
    edges = [FIRST, FIRST + SECOND, LAST]
    times = [edges.pop() if edges else rng.randrange(FIRST, LAST, SECOND) for _ in moments]
    rng.shuffle(times)
    people = [f"person{number % PEOPLE}@example.com" for number in range(len(moments))]
    return [DatedWebhook(*item) for item in zip(people, rng.choices(KINDS, k=len(moments)), times, moments, strict=True)]


def send(api: ApiClient, journal: Journal, read_contacts: DatedWebhook) -> None:
    """Send one webhook; the server's clock is already set to its arrival."""
    body = body_of(read_contacts.email) | {
        "event_type": read_contacts.kind,
        "timestamp": to_text(read_contacts.at_us),
        "email_id": f"{read_contacts.at_us}-{read_contacts.received_us}",
    }
    answer = api.call("POST", f"/public/emailcampaign-webhook/{journal.client}", body)
    journal.note(answer.status, answer.seconds, read_contacts.kind)


def read_contacts(api: ApiClient, findings: Findings) -> dict[str, Any]:
    """Read all contacts with their timelines over the API, by e-mail address; check the order of lists and timelines."""
    listed = _pages(api, CONTACTS)
    changed = _pages(api, f"{CONTACTS}?updated_since=1970-01-01T00:00:00Z")
    _check_sorted([(from_text(item["updated_time"]), item["id"]) for item in changed], "changes in the list of contacts", findings)
    if {page["id"] for page in listed} != {item["id"] for item in changed}:
        findings.fault("the list of contacts and that of changed contacts are not the same")
    observed = {}
    for entry in listed:
        if (entry.get("email") or "").startswith("person"):
            timeline = _pages(api, f"{CONTACTS}/{entry['id']}/timeline")
            _check_sorted(
                [from_text(event["occurred_at"]) for event in reversed(timeline)], f"the timeline of {entry['email']}", findings, equal=True
            )
            observed[entry["email"]] = _plain(entry) | {"timeline": [_plain(event) for event in timeline]}
    return observed


def expected_contacts(calls: list[DatedWebhook]) -> dict[str, Any]:
    """Compute the dates and the timeline order of each contact from the events alone."""
    by_email: dict[str, list[DatedWebhook]] = defaultdict(list)
    for item in calls:
        by_email[item.email].append(item)
    return {email: _dates(calls) for email, calls in by_email.items()}


def compare(observed: dict[str, Any], wanted: dict[str, Any], what: str, findings: Findings) -> None:
    """Add a finding for every expected field that differs."""
    if observed.keys() != wanted.keys():
        findings.fault(f"the contacts are not those of {what}")
    for email, fields in wanted.items():
        for name, value in fields.items():
            if name == "times":
                there: object = sorted(event["occurred_at"] for event in observed.get(email, {}).get("timeline", ()))
            else:
                there = observed.get(email, {}).get(name)
            if there != value:
                findings.fault(f"{name} of {email} is not that of {what}: {str(there)[:90]}, and should be {str(value)[:90]}")


def _dates(calls: list[DatedWebhook]) -> dict[str, Any]:
    sent = sorted(item.effective_us for item in calls if item.kind == "email_sent")
    replies = [item.effective_us for item in calls if item.kind == "reply_received"]
    return {
        "first_campaign_email_sent": to_text(sent[0]) if sent else None,
        "last_campaign_email_sent": to_text(sent[-1]) if sent else None,
        "last_reply_received": to_text(max(replies)) if replies else None,
        "times": sorted(to_text(item.effective_us) for item in calls),
    }


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in SERVER_FIELDS}


def _pages(api: ApiClient, path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    joint = "&" if "?" in path else "?"
    while cursor is not None:
        page = api.expect_ok("GET", f"{path}{joint}limit={PAGE}" + (f"&cursor={cursor}" if cursor else ""))
        rows += page["data"]
        cursor = page["next_cursor"]
    return rows


def _check_sorted(values: list[Any], what: str, findings: Findings, *, equal: bool = False) -> None:
    if any(later < earlier or (later == earlier and not equal) for earlier, later in pairwise(values)):
        findings.fault(f"{what} are out of order")
