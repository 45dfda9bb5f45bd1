"""What the tools' guides promise: what each event means, and that a webhook sent as the guide says is the tool's."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import groupby

import pytest
from tests.adapters.conftest import Recorded, all_recorded
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.house import House

from touchbase.adapters import catalogue
from touchbase.adapters.kit.declarative import TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import EMAIL_CAMPAIGN, NOT_ABOUT_A_RECORD
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

SAYS = {
    "email_deferred": ("delayed",), "email_send_failed": ("not sent",), "email_spam_complaint": ("spam complaint",),
    "email_replied": ("repl", "answer"), "email_auto_replied": ("automatic",), "email_preferences_changed": ("preferences",),
    "manual_email_sent": ("manual", "by hand"), "email_sent": ("sent",), "linkedin_sent": ("message sent",),
    "linkedin_replied": ("linkedin reply",), "linkedin_invite_sent": ("invitation",), "linkedin_invite_accepted": ("accepted",),
    "linkedin_other": ("linkedin",), "lead_status_changed": ("status",), "contact_saved": ("saved",), "account_event": ("account",),
    "meeting_no_show": ("missed",), "email_bounced": ("bounce",),
}  # fmt: skip
"""Words of a guide for an event, where the event's own last word is not one of them."""


def _says(meaning: Meaning, said: str) -> bool:
    if any(part.removeprefix("custom:").lower() not in said for part in (meaning.status, meaning.kind) if part):
        return False
    words = (*SAYS.get(meaning.event, ()), meaning.event.replace("_", " "), meaning.event.rpartition("_")[2])
    return meaning.event == "other" or any(word in said for word in words)


def test_tool_guide__says_what_each_name_of_an_event_means(subtests: pytest.Subtests) -> None:
    names = 0
    for tool in catalogue.catalogue():
        adapter = import_module(f"touchbase.adapters.{tool.channel}.{tool.tool}").ADAPTER
        rows = tool.understood if isinstance(adapter, TableAdapter) else []
        said: dict[str, str] = {}
        for row in rows:
            for name in map(normalize_event_name, re.findall(r"`([^`]+)`", row.theirs)):
                said[name] = f"{said.get(name, '')} {row.ours.lower()}"
        for name in said.keys() & getattr(adapter, "meanings", {}).keys():
            names += 1
            with subtests.test(tool=tool.tool, name=name):
                assert _says(adapter.meanings[name], said[name]), (adapter.meanings[name], said[name])
    assert names > 500


ADAPTERS = load_adapters()


@pytest.mark.slow
async def test_webhook_of_each_tool_with_the_generated_secret__means_what_its_fixture_says(
    store: Store, make_client: MakeClient, clock: Clock, subtests: pytest.Subtests
) -> None:
    call: ApiClient = make_client(store, senders=ADAPTERS)
    house = await House.of(call, "default")
    inbox = InboxWorker(store, ADAPTERS.translate, clock)
    about_people = filter(_is_about_somebody, all_recorded())
    tools = [next(fixtures) for _, fixtures in groupby(about_people, lambda recorded: (recorded.channel, recorded.tool))]
    for recorded in tools:
        with subtests.test(recorded.id):
            body = {"channel": recorded.channel, "tool": recorded.tool, "generate_secret": True, "settings": {"create_unknown": True}}
            connected = await house.request("POST", f"/admin/v1/clients/{house.client_id}/connections", body)
            request = recorded.content["request"]
            query, headers = request.get("query", ""), request.get("headers", {})
            channel = "emailcampaign" if recorded.channel == EMAIL_CAMPAIGN else recorded.channel
            address = f"/public/{channel}-webhook/{house.client_id}?{query}"

            forged = await call("POST", address, raw=recorded.body, **headers)
            proved = await call("POST", f"{address}&token={connected.json()['generated_secret']}", raw=recorded.body, **headers)

            assert (connected.status, forged.status, proved.status) == (201, 401, 200)
    await inbox.drain()

    deliveries = (await house.request("GET", "/admin/v1/deliveries?limit=200")).json()["data"]
    assert len(tools) > 95
    for recorded, delivery in zip(reversed(tools), deliveries, strict=True):
        with subtests.test(recorded.id):
            events = {event["event"] for event in recorded.content["events"]} - NOT_ABOUT_A_RECORD
            assert (delivery["tool"], {*delivery["events"]}) == (recorded.tool, events)


def _is_about_somebody(recorded: Recorded) -> bool:
    events = ADAPTERS.translate(recorded.request).events
    return bool(events) and all(event.about and any((event.email, event.linkedin_url, event.domain, event.object_id)) for event in events)
