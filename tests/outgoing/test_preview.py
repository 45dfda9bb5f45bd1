"""Previews show what would be sent, and send nothing; templates take the values of the event and no others."""

from __future__ import annotations

from email import message_from_string
from email.policy import SMTP

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.outgoing.conftest import PATH, Webhooks

from touchbase.outgoing.notices import PATHS
from touchbase.outgoing.samples import sample
from touchbase.outgoing.templates import render, template_faults


async def test_preview__is_what_the_test_sends(webhooks: Webhooks) -> None:
    template = {"kind": "slack", "template": "*{{person}}* is {{contact.contact_status}}"}
    created = await webhooks.add(**template)

    shown = await webhooks.ask("POST", "/preview", template)
    assert webhooks.receivers.take() == []
    await webhooks.ask("POST", f"/{created['id']}/test")
    [sent] = webhooks.receivers.take()

    assert (shown["kind"], shown["type"]) == ("slack", "message.received")
    assert shown["body"] == sent.body
    assert shown["headers"] == sent.headers
    assert shown["body"]["blocks"][0]["text"]["text"] == "*Ada Lovelace (ada@acme.example, Acme)* is replied"


async def test_preview_of_a_stored_event__is_what_is_sent_about_it(webhooks: Webhooks) -> None:
    requested = {
        "kind": "email",
        "to": ["sales@agency.example"],
        "template_subject": "Reply of {{contact.first_name}}",
        "template": "{{cf.a.b}}!",
    }
    await webhooks.add(**requested)
    await webhooks.reply("ada@example.com", first_name="Ada", contact_custom_fields_input=[{"field_name": "a.b", "field_value": "40"}])
    [sent] = await webhooks.deliver()
    event = next(attempt["event"] for attempt in await webhooks.attempts())

    shown = await webhooks.ask("POST", "/preview", {**requested, "event": event})

    # Only the id of the endpoint is not known yet.
    mail, previewed = (message_from_string(source, policy=SMTP) for source in (sent.raw.decode(), shown["source"]))
    assert {**dict(mail.items()), "Message-ID": ""} == {**dict(previewed.items()), "Message-ID": ""}
    assert shown["headers"]["Subject"] == "Reply of Ada"
    assert shown["body"] == mail.get_payload().replace("\r\n", "\n") == "40!\n"
    assert webhooks.receivers.take() == []


async def test_preview__shows_the_envelope_of_a_webhook(webhooks: Webhooks) -> None:
    person = await webhooks.house.contact(email="ada@example.com")

    shown = await webhooks.ask("POST", "/preview", {"kind": "webhook", "event": "evt_1"})

    assert (shown["type"], shown["body"]["data"]["object"]["id"]) == ("contact.created", person)


async def test_preview__of_other_types_says_what_happened(webhooks: Webhooks) -> None:
    texts = [
        (await webhooks.ask("POST", "/preview", {"type": word}))["body"]["text"]
        for word in ("contact.status_changed", "company.created", "connection.silent")
    ]

    assert texts == [
        "Ada Lovelace (ada@acme.example, Acme): contacted → replied",
        "Acme: company.created",
        "smartlead email_campaign: connection.silent",
    ]


@pytest.mark.parametrize("event", ["evt_99", "evt_x", "99999999999999999999"])
async def test_preview__of_an_unknown_event_is_not_found(webhooks: Webhooks, event: str) -> None:
    refused = await webhooks.ask("POST", "/preview", {"event": event}, expect=404)

    assert "evt_1207" in refused["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"type": "contact.repliedd"}, "/type"), ({"template": "{{x}}"}, "/template"), ({"kind": "email", "to": ["x"]}, "/to/0")],
)
async def test_preview__names_the_fault(webhooks: Webhooks, body: dict[str, object], pointer: str) -> None:
    refused = await webhooks.ask("POST", "/preview", body, expect=422)

    assert [fault["pointer"] for fault in refused["errors"]] == [pointer]


def test_every_path__is_rendered_from_a_sample() -> None:
    event, observed = sample("contact.status_changed", "acme", 0)
    values = {**event, "contact": observed.contact, "cf": {"Seats": "40", "a.b": "x"}}

    assert (
        render("{{ type }}|{{data.changed.contact_status.1}}|{{cf.a.b}}|{{cf.none}}|{{data.merged}}", values)
        == "contact.status_changed|replied|x||"
    )
    assert render("{{data.cause.deliveries}} {{contact.id}}", values) == "[4711] 1042"


@settings(max_examples=examples(40))
@given(path=st.text(alphabet=st.sampled_from("abc_.0[]()'\"%#!/ "), max_size=20))
def test_any_unknown_path__is_refused_with_the_nearest(path: str) -> None:
    [fault] = template_faults("{{" + path + "}}", "/template", PATHS)

    assert fault.pointer == "/template"
    assert any(repr(expected) in fault.detail for expected in PATHS)


@given(st.text(alphabet=st.sampled_from("{}ab. \n"), max_size=40))
def test_any_value__is_never_read_as_a_template(value: str) -> None:
    assert render("<{{a}}>{{b.a}}", {"a": value, "b": {"a": 1}}) == f"<{value}>1"


async def test_tests_and_previews__have_a_rate_for_each_client(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 200

    for _ in range(5):
        await webhooks.ask("POST", f"/{created['id']}/test")
        await webhooks.ask("POST", "/preview", {"kind": "slack"})
    refused = await webhooks.house.request("POST", f"{PATH}/{created['id']}/test")
    preview = await webhooks.house.request("POST", f"{PATH}/preview", {"kind": "slack"})
    webhooks.clock.move(int(refused.headers["retry-after"]))

    assert (refused.status, refused.problem["code"], preview.status) == (429, "rate_limited", 429)
    assert refused.headers["retry-after"] == "6"
    await webhooks.ask("POST", f"/{created['id']}/test")
