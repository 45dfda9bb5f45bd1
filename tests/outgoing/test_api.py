"""The endpoints' own resources: what is accepted, what is shown, secrets, tests and attempts."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.outgoing.conftest import PATH, SLACK_URL, URL, Webhooks

from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.signatures import sign


async def test_add__shows_the_secret_once(webhooks: Webhooks) -> None:
    created = await webhooks.add(types=["contact.replied"], description="Replies", rate_limit=5)

    shown = await webhooks.ask("GET", f"/{created['id']}")

    assert created["secret"].startswith("whsec_")
    assert "secret" not in shown
    assert (shown["url"], shown["types"], shown["rate_limit"], shown["state"]) == (URL, ["contact.replied"], 5, "active")
    assert shown["progress"] == {"waiting": 0, "failed": 0, "failing_since_time": None, "last_delivered_time": None}
    listed = await webhooks.ask("GET", "")
    assert [item["id"] for item in listed["data"]] == [created["id"]]


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({"url": "http://receiver.example/hooks"}, "/url", "https"),
        ({"url": "https://127.0.0.1/hooks"}, "/url", "public"),
        ({"url": "https://[::1]/hooks"}, "/url", "public"),
        ({"url": "https://localhost/hooks"}, "/url", "public"),
        ({"url": "https://user:secret@receiver.example/"}, "/url", "without password"),
        ({"url": "ftp://receiver.example/"}, "/url", "https://"),
        ({"url": "https://receiver.example/hö"}, "/url", "ASCII"),
        ({"url": URL, "types": ["contact.repliedd"]}, "/types/0", "'contact.replied'"),
        ({"url": URL, "fields": ["emial"]}, "/fields/0", "'email'"),
        ({"url": URL, "filter": {"contact": {"contact_statsu": "won"}}}, "/filter/contact/contact_statsu", "'contact_status'"),
        ({"url": URL, "filter": {"person": {}}}, "/filter/person", '"contact"'),
        ({"url": URL, "ordering": "any"}, "/ordering", ""),
    ],
)
async def test_add__names_the_fault(webhooks: Webhooks, body: dict[str, object], pointer: str, says: str) -> None:
    reply = await webhooks.house.request("POST", PATH, body)

    assert reply.status == 422
    [fault] = reply.json()["errors"]
    assert fault["pointer"] == pointer
    assert says in fault["detail"]


async def test_add__accepts_an_origin_that_the_operator_lists(webhooks: Webhooks) -> None:
    reply = await webhooks.house.request("POST", PATH, {"url": "http://127.0.0.1:9/hooks?from=touchbase"})

    assert reply.status == 201


async def test_change__replaces_what_is_given_and_disabled_lets_events_wait(webhooks: Webhooks) -> None:
    created = await webhooks.add(description="first")

    changed = await webhooks.ask("PATCH", f"/{created['id']}", {"disabled": True, "rate_limit": 3})
    await webhooks.house.contact(email="ada@example.com")

    assert (changed["state"], changed["rate_limit"], changed["description"]) == ("disabled", 3, "first")
    assert await webhooks.deliver() == []
    await webhooks.ask("PATCH", f"/{created['id']}", {"disabled": False})
    assert [sent.sequence for sent in await webhooks.deliver()] == [1]


async def test_remove__sends_nothing_more(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.deliver()

    await webhooks.ask("DELETE", f"/{created['id']}", expect=204)

    assert await webhooks.deliver(60) == []
    assert await webhooks.attempts() == []
    await webhooks.ask("GET", f"/{created['id']}", expect=404)
    await webhooks.ask("DELETE", f"/{created['id']}", expect=404)


async def test_rotation__signs_with_both_secrets_until_the_overlap_ends(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    changed = await webhooks.ask("POST", f"/{created['id']}/rotate-secret", {"overlap_hours": 2})
    await webhooks.house.contact(email="ada@example.com")
    [sent] = await webhooks.deliver()

    timestamp = int(sent.headers["webhook-timestamp"])
    both = [sign(secret, sent.id, timestamp, sent.raw) for secret in (changed["secret"], created["secret"])]
    assert sent.headers["webhook-signature"].split() == both
    await webhooks.house.contact(email="bob@example.com")
    [later] = await webhooks.deliver(2 * 3_600)
    timestamp = int(later.headers["webhook-timestamp"])
    assert later.headers["webhook-signature"] == sign(changed["secret"], later.id, timestamp, later.raw)


async def test_test_send__shows_the_response(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    webhooks.receivers.answer = lambda sent: ReceiverAnswer(2_500, 418, body="I am a teapot")

    shown = await webhooks.ask("POST", f"/{created['id']}/test")

    assert (shown["outcome"], shown["status"], shown["latency_ms"], shown["response_body"]) == ("refused", 418, 2.5, "I am a teapot")
    [sent] = webhooks.receivers.take()
    assert sent.body["type"] == "endpoint.test"
    assert [attempt["event"] for attempt in await webhooks.attempts()] == [None]


async def test_attempts__are_filtered_and_paged(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500 if sent.sequence == 2 else 200
    for number in range(4):
        await webhooks.house.contact(email=f"person{number}@example.com")
    await webhooks.deliver()

    assert {attempt["event"] for attempt in await webhooks.attempts(f"endpoint={created['id']}")} == {f"evt_{n}" for n in range(1, 5)}
    assert [attempt["event"] for attempt in await webhooks.attempts("outcome=refused")] == ["evt_2"]
    assert [attempt["outcome"] for attempt in await webhooks.attempts("event=evt_3")] == ["delivered"]
    page = (await webhooks.house.request("GET", "/public/v2/webhook-attempts?limit=3")).json()
    body = (await webhooks.house.request("GET", f"/public/v2/webhook-attempts?limit=3&cursor={page['next_cursor']}")).json()
    assert len(page["data"]) == 3
    assert (len(body["data"]), body["next_cursor"]) == (1, None)
    assert (await webhooks.house.request("GET", "/public/v2/webhook-attempts?event=5x")).status == 422


def shell_words(command: str) -> list[str]:
    """Return the arguments that a shell passes to `curl`."""
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, text=True).stdout.split("\0")[:-1]


async def test_request_of_an_attempt__is_what_was_sent(webhooks: Webhooks) -> None:
    created = await webhooks.add(fields=["email", "last_name"], format="cloudevents")
    webhooks.receivers.answer = lambda sent: 503
    number = await webhooks.house.contact(email="ada@example.com", last_name="O'Neil $HOME")
    [sent] = await webhooks.deliver()
    await webhooks.ask("POST", f"/{created['id']}/test")
    [test] = webhooks.receivers.take()
    tested, attempt = await webhooks.attempts()

    for shown, request in ((attempt, sent), (tested, test)):
        rebuilt = await webhooks.request_of(shown["id"])
        assert (rebuilt["method"], rebuilt["url"], rebuilt["headers"]) == ("POST", request.url, request.headers)
        assert rebuilt["body"] == request.raw.decode()
        assert rebuilt["changed"] == []
        words = [word for name, value in request.headers.items() for word in ("-H", f"{name}: {value}")]
        assert shell_words(rebuilt["curl"]) == [request.url, *words, "--data-raw", request.raw.decode()]

    webhooks.clock.move(60)
    assert (await webhooks.house.request("PATCH", f"/public/v2/contacts/{number}", {"last_name": "O'Neill"})).status == 200
    assert [change.partition(" at ")[0] for change in (await webhooks.request_of(attempt["id"]))["changed"]] == ["the record was changed"]
    await webhooks.ask("PATCH", f"/{created['id']}", {"fields": []})
    rebuilt = await webhooks.request_of(attempt["id"])
    assert [change.partition(" at ")[0] for change in rebuilt["changed"]] == [
        "the endpoint was changed, stopped or resumed", "the record was changed",
    ]  # fmt: skip
    assert json.loads(rebuilt["body"])["data"]["object"]["last_name"] == "O'Neill"
    assert [len((await webhooks.request_of(shown["id"]))["changed"]) for shown in (tested, attempt)] == [1, 2]


async def test_request_of_an_attempt__has_no_secret(webhooks: Webhooks) -> None:
    slack = await webhooks.add(kind="slack")
    mail = await webhooks.add(kind="email", to=["sales@agency.example"])
    await webhooks.ask("POST", f"/{slack['id']}/test")
    await webhooks.ask("POST", f"/{mail['id']}/test")
    posted, mailed = webhooks.receivers.take()

    of_mail, of_slack = [await webhooks.request_of(attempt["id"]) for attempt in await webhooks.attempts()]

    assert (of_slack["url"], of_slack["headers"], of_slack["body"]) == (slack["url"], posted.headers, posted.raw.decode())
    assert of_slack["curl"].startswith('curl "$URL" \\\n')
    assert SLACK_URL.rpartition("/")[2] not in json.dumps(of_slack)
    assert of_mail["headers"]["Subject"] in mailed.raw.decode()
    assert (of_mail["method"], of_mail["url"], of_mail["curl"]) == ("MAIL", "mailto:sales@agency.example", None)


async def test_request_of_an_attempt__is_one_command_whatever_the_record_and_the_url_hold(webhooks: Webhooks) -> None:
    """A terminal shows the command as it is: nothing in it moves the cursor, turns the direction or ends a line."""
    created = await webhooks.add(url="https://crm.example.com/[1-9]{a,b}?q='$(id)`id`%41", fields=["last_name"])
    await webhooks.house.contact(email="ada@example.com", last_name="'\"$(id)`id`%s\\n\x85\x9b\u2028\u202e%41\\047'")
    [sent] = await webhooks.deliver()

    [attempt] = await webhooks.attempts()
    curl = (await webhooks.request_of(attempt["id"]))["curl"]

    assert curl.replace("\n", "").isprintable()
    words = [word for name, value in sent.headers.items() for word in ("-H", f"{name}: {value}")]
    assert shell_words(curl) == ["--globoff", created["url"], *words, "--data-raw", sent.raw.decode()]


async def test_request_of_an_unknown_attempt__is_not_found(webhooks: Webhooks) -> None:
    refused = await webhooks.house.request("GET", "/public/v2/webhook-attempts/7/request")

    assert (refused.status, refused.problem["detail"]) == (404, "there is no webhook attempt 7")


async def test_replay__needs_exactly_one_member(webhooks: Webhooks) -> None:
    created = await webhooks.add()

    await webhooks.ask("POST", f"/{created['id']}/replay", {}, 422)
    await webhooks.ask("POST", f"/{created['id']}/replay", {"event": "evt_1", "failed_since": "2026-11-20T00:00:00Z"}, 422)
    await webhooks.ask("POST", f"/{created['id']}/replay", {"failed_since": "yesterday"}, 422)
    await webhooks.ask("POST", f"/{created['id']}/replay", {"event": "evt_7"}, 404)
    await webhooks.ask("POST", f"/{created['id']}/replay", {"event": "seven"}, 404)
    await webhooks.ask("POST", "/99/replay", {"event": "evt_7"}, 404)


async def test_cloudevents__has_the_required_attributes(webhooks: Webhooks) -> None:
    await webhooks.add(format="cloudevents")
    number = await webhooks.house.contact(email="ada@example.com")

    [sent] = await webhooks.deliver()

    assert sent.headers["content-type"] == "application/cloudevents+json"
    assert {name: sent.body[name] for name in ("specversion", "id", "source", "type", "subject", "datacontenttype")} == {
        "specversion": "1.0", "id": sent.id, "source": "/clients/default", "type": "contact.created", "subject": f"contact/{number}",
        "datacontenttype": "application/json",
    }  # fmt: skip
    assert sent.body["data"]["object"]["email"] == "ada@example.com"


async def test_large_object__is_cut_to_its_id(webhooks: Webhooks) -> None:
    await webhooks.add()
    fields = [{"field_name": f"Field {n}", "field_value": "x" * 5_000} for n in range(5)]
    number = await webhooks.house.contact(email="ada@example.com", contact_custom_fields_input=fields)

    [sent] = await webhooks.deliver()

    assert sent.body["data"]["truncated"] is True
    assert sent.body["data"]["object"] == {"id": number}
    assert len(sent.raw) < 20_000
