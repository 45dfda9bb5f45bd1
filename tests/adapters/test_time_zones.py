"""Times that name no zone: read in the zone that the client has named, else as UTC and said to be unsure."""

from __future__ import annotations

import json

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import to_text
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

ADAPTERS = load_adapters()


def told(tool: str, channel: str, body: object, zone: str | None = None) -> list[Event]:
    connection = Connection(1, channel, tool, 0, 0, [], ConnectionSettings(time_zone=zone, create_unknown=True))
    return ADAPTERS.translate(WebhookRequest(channel, {}, "", json.dumps(body).encode(), tool, [connection])).events


def at(written: str, zone: str | None = None) -> tuple[str | None, bool]:
    """The time of a lead of Frappe's, and whether it is unsure."""
    body = {"doctype": "CRM Lead", "name": "L-1", "email": "ann@example.com", "status": "New", "modified": written}
    times = {(event.occurred_us, event.unzoned) for event in told("frappe", CRM, body, zone)}
    ((found, unzoned),) = times
    assert type(found) is int
    return to_text(found), unzoned


@pytest.mark.parametrize(
    ("written", "zone", "read"),
    [
        ("2026-11-25 03:50:01.717442", "Asia/Kolkata", "2026-11-24T22:20:01.717442Z"),
        ("2026-11-24 17:20:01", "America/New_York", "2026-11-24T22:20:01Z"),
        ("2026-07-01 12:00:00", "Europe/Berlin", "2026-07-01T10:00:00Z"),
        ("2026-12-01 12:00:00", "Europe/Berlin", "2026-12-01T11:00:00Z"),
        ("2026-10-25 02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),  # shown twice: the first
        ("2026-03-29 02:30:00", "Europe/Berlin", "2026-03-29T01:30:00Z"),  # shown never
        ("2026-12-01", "Asia/Kolkata", "2026-11-30T18:30:00Z"),
        ("2026-12-01 12:00:00", "UTC", "2026-12-01T12:00:00Z"),
    ],
)
def test_time_without_zone__uses_the_time_zone_setting(written: str, zone: str, read: str) -> None:
    assert at(written, zone) == (read, False)


@pytest.mark.parametrize("written", ["2026-11-24T22:20:01Z", "2026-11-25T03:50:01+05:30", "2026-11-24 22:20:01 UTC"])
def test_time_with_zone__ignores_the_time_zone_setting(written: str) -> None:
    assert at(written, "Asia/Kolkata") == ("2026-11-24T22:20:01Z", False)
    assert at(written) == ("2026-11-24T22:20:01Z", False)


def test_time_without_zone__is_read_as_utc_and_marked_without_a_setting() -> None:
    assert at("2026-11-25 03:50:01") == ("2026-11-25T03:50:01Z", True)


def test_unknown_time_zone__leaves_the_time_marked_as_unzoned() -> None:
    assert at("2026-11-25 03:50:01", "Europe/Atlantis") == ("2026-11-25T03:50:01Z", True)


def test_time_zone_setting__applies_to_email_campaign_tools() -> None:
    body = {"event": "email_replied", "email": "ann@example.com", "timestamp": "2026-11-25 03:50:01"}

    (event,) = told("generic", EMAIL_CAMPAIGN, body, "Asia/Kolkata")

    assert (to_text(event.occurred_us or 0), event.unzoned) == ("2026-11-24T22:20:01Z", False)
