"""Bodies of a campaign tool without an adapter, for which the client has declared the paths and the meaning of event names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.test_connections import connected, told

from touchbase.adapters.email_campaign.generic import ADAPTER
from touchbase.adapters.kit.parse import parse
from touchbase.connections.models import ConnectionSettings
from touchbase.history.events import Event

BODY = {
    "kind": "call.finished",
    "prospect": {"mail": "Ann@Example.com", "who": "Ann Lee"},
    "outcome": "talked",
    "when": "2026-11-20T09:30:00Z",
    "list": {"title": "Winter", "no": 7},
}
FIELDS = {
    "event": "kind", "email": "prospect.mail", "name": "prospect.who", "status": "outcome", "occurred_at": "when", "campaign": "list.title",
    "campaign_id": "list.no",
}  # fmt: skip


def read(body: object, **settings: Any) -> list[Event]:
    return told(body, connected("generic", "email_campaign", **settings), channel="email_campaign").events


def test_fields_setting__reads_a_status_from_a_body_whose_event_says_nothing_else() -> None:
    assert [(each.event, each.email) for each in read(BODY)] == [("unknown", "ann@example.com")]

    (event,) = read(BODY, fields=FIELDS)

    assert (event.event, event.status, event.email) == ("lead_status_changed", "custom:talked", "ann@example.com")
    assert (event.first_name, event.last_name, event.campaign, event.campaign_id) == ("Ann", "Lee", "Winter", "7")
    assert event.occurred_us is not None
    assert event.source_event == "call.finished"


def test_events_setting__says_what_an_event_name_means_whatever_its_case() -> None:
    (event,) = read(BODY, fields=FIELDS, events={"Call.Finished": "email_replied"})

    assert (event.event, event.status) == ("email_replied", None)
    (event,) = read(BODY, fields=FIELDS, events={"call_finished": "other", "call.finished": "other"})
    assert (event.event, event.status) == ("other", None)


def test_status_labels_setting__applies_to_a_declared_status() -> None:
    (event,) = read(BODY, fields=FIELDS, status_labels={"Talked": "meeting"})

    assert event.status == "meeting"


def test_undeclared_values__are_read_by_their_usual_keys() -> None:
    (event,) = read({"event": "email_replied", "email": "a@b.co", "who": {"mail": "ann@example.com"}}, fields={"email": "who.mail"})
    assert (event.event, event.email) == ("email_replied", "ann@example.com")

    (event,) = read({"event": "email_replied", "email": "a@b.co"}, fields={"email": "who.mail"})
    assert event.email == "a@b.co"


def test_paths__count_within_the_event_then_its_wrapper_then_the_whole_body() -> None:
    both = {"kind": "x", "data": [{"who": "a@b.co", "out": "hot"}, {"who": "c@d.co", "out": "cold"}]}
    found = read(both, fields={"event": "kind", "email": "who", "status": "out"})
    assert [(each.email, each.status) for each in found] == [("a@b.co", "custom:hot"), ("c@d.co", "custom:cold")]

    (event,) = read({"data": {"who": "a@b.co"}, "out": "hot"}, fields={"email": "data.who", "status": "out"})
    assert (event.email, event.status) == ("a@b.co", "custom:hot")

    (event,) = read({"kind": "outer", "data": {"kind": "inner", "who": "a@b.co"}}, fields={"event": "kind", "email": "who"})
    assert event.source_event == "inner"


def test_path_with_brackets__reads_an_event_for_each_of_a_list() -> None:
    rows = [{"Mail": "ann@example.com", "Who": "Ann Lee"}, {"Mail": ""}, {"Mail": "bo@example.com"}]
    body = {"kind": "call.finished", "when": "2026-11-20T09:30:00Z", "result": {"people": rows}}
    fields = {"event": "kind", "occurred_at": "when", "email": "result.people[].Mail", "name": "result.people[].Who"}

    events = read(body, fields=fields, events={"call.finished": "email_replied"})

    assert [(event.event, event.email, event.first_name) for event in events] == [
        ("email_replied", "ann@example.com", "Ann"), ("email_replied", None, None), ("email_replied", "bo@example.com", None),
    ]  # fmt: skip
    assert all(event.occurred_us is not None for event in events)


def test_path_with_brackets__may_end_at_a_list_of_texts() -> None:
    events = read({"kind": "sent", "to": ["ann@example.com", "bo@example.com"]}, fields={"event": "kind", "email": "to[]"})

    assert [(event.event, event.email) for event in events] == [("email_sent", "ann@example.com"), ("email_sent", "bo@example.com")]


def test_path_with_brackets__of_a_missing_list_is_not_passed_over() -> None:
    (event,) = read({"kind": "sent", "to": []}, fields={"event": "kind", "email": "to[]"})

    assert (event.event, event.email) == ("email_sent", None)


def test_custom_paths__give_custom_fields() -> None:
    body = {"kind": "sent", "who": {"mail": "ann@example.com", "org": "Acme", "seats": 40, "tags": ["a", "b"], "none": ""}}
    fields = {
        "event": "kind", "email": "who.mail", "company": "who.org", "custom.Seats": "who.seats", "custom.plan_id": "who.tags",
        "custom.None": "who.none",
    }  # fmt: skip

    (event,) = read(body, fields=fields)

    assert (event.event, event.custom) == ("email_sent", {"company": "Acme", "Seats": "40", "plan_id": "a, b"})


ATTRIBUTES = {"event": "source_event", "occurred_at": "occurred_us", "name": "first_name"}


def test_inferred_path__declared_gives_the_same_value_in_every_fixture(subtests: pytest.Subtests, all_fixtures: Any) -> None:
    tried = set()
    for recorded in all_fixtures:
        if recorded.tool != "generic" or recorded.request.channel != "email_campaign":
            continue
        webhook = parse(recorded.request)
        for number, event in enumerate(ADAPTER.translate(webhook)):
            for name, path in event.inferred.items():
                with subtests.test(f"{recorded.id} {name} {path}"):
                    tried.add(name)
                    again = ADAPTER.translate(replace(webhook, settings=ConnectionSettings(fields={name: path}), subjects={}))[number]
                    attribute = ATTRIBUTES.get(name, name)
                    assert getattr(again, attribute) == getattr(event, attribute)
                    assert name not in again.inferred
    assert tried >= {"event", "email", "occurred_at", "first_name", "campaign"}


@pytest.mark.parametrize(
    ("body", "inferred"),
    [
        ({"Event Type": "email_opened", "LeadEmail": "a@b.co"}, {"event": "Event Type", "email": "LeadEmail"}),
        ({"event": "replied", "prospect": {"mail": "a@b.co"}, "createdAt": 1790000400}, {
            "event": "event", "email": "prospect.mail", "occurred_at": "createdAt"
        }),
        ({"event": "replied", "data": {"email": "a@b.co", "campaign": {"name": "Q3"}}}, {
            "event": "event", "email": "email", "campaign": "campaign.name"
        }),
    ],
)  # fmt: skip
def test_value_without_a_declared_path__says_where_it_was_read(body: dict[str, Any], inferred: dict[str, str]) -> None:
    (event,) = read(body)

    assert event.inferred == inferred
    (event,) = read(body, fields={"email": inferred["email"]})
    assert event.inferred == {name: path for name, path in inferred.items() if name != "email"}
