"""Tools whose webhooks are read at either address: booking tools, forms, marketing tools."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from touchbase.adapters.registry import Adapters
from touchbase.history.events import CHANNELS, CRM_EVENTS, EMAIL_EVENTS, Event

WORDS = {"email_campaign": EMAIL_EVENTS, "crm": CRM_EVENTS | EMAIL_EVENTS - {"contact_saved", "other", "unknown", "account_event"}}
DROPPED = ("contact.deleted", "company.")
"""Events of CRMs that mean nothing at the address of campaign tools."""


def _people(events: list[Event]) -> list[tuple[str | None, str | None]]:
    return [(event.email, event.linkedin_url) for event in events if event.about is not None and not event.event.startswith(DROPPED)]


def test_fixture__names_the_same_people_at_the_other_address(subtests: pytest.Subtests, all_fixtures, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        adapter = import_module(f"touchbase.adapters.{recorded.channel}.{recorded.tool}").ADAPTER
        for channel in set(getattr(adapter, "channels", ())) - {recorded.channel}:
            with subtests.test(f"{recorded.id} at {channel}"):
                here = adapters.translate(recorded.request)

                there = adapters.translate(replace(recorded.request, channel=channel))

                assert there.tool == recorded.tool
                assert _people(there.events) == _people(here.events)
                assert {event.event for event in there.events} <= WORDS[channel]


def test_tools_of_both_addresses__are_of_either_channel(adapters: Adapters) -> None:
    both = set(adapters.tools(CHANNELS[0])) & set(adapters.tools(CHANNELS[1]))

    assert {"calendly", "cal_com", "acuity", "generic", "outreach"} <= both


def test_mailbox_of_unipile__creates_no_contacts(all_fixtures, adapters: Adapters) -> None:
    of_name = {
        recorded.id.removeprefix("email_campaign-unipile-"): recorded.request for recorded in all_fixtures if recorded.tool == "unipile"
    }

    assert adapters.translate(of_name["mail_received"]).create_unknown is False
    assert adapters.translate(of_name["message_received"]).create_unknown is None
