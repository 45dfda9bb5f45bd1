"""`touchbase endpoints preview`: what an endpoint would be sent, on the command line as in the API."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Run

from touchbase.cli.store import opened
from touchbase.cli.store import run as run_now
from touchbase.clients.sql.clients import find_client
from touchbase.outgoing.models import Endpoint
from touchbase.outgoing.sql.endpoints import add_endpoint
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation

ACME = ("--client", "acme")
PREVIEW = ("endpoints", "preview", *ACME)


async def _fill() -> None:
    """A contact, whose creation is the event 1, and endpoints that want it and do not."""
    async with opened(None) as store:
        client = await store.read(find_client("acme"))
        assert client is not None
        ada = Contact(client.number, 0, 5, 5, "ada@example.com", "ada@example.com", first_name="Ada")
        await store.write(create_contact(Creation(ada)))
        url = "https://receiver.example/hooks"
        for more in (
            {},
            {"types": ["contact.replied"]},
            {"filter": {"contact": {"first_name": "Bob"}}},
            {"kind": "email", "settings": {"to": ["sales@example.com"], "template": "{{contact.first_name}}\n{{type}}"}},
        ):
            await store.write(add_endpoint(Endpoint(client.number, 0, url, 5, 5, **more)))


@pytest.fixture
def acme(store: Run) -> Run:
    assert store("clients", "add", "acme").exit_code == 0
    run_now(_fill())
    return store


def test_preview__shows_the_request_about_an_event(acme: Run) -> None:
    shown = acme(*PREVIEW, "1", "--event", "evt_1", "--json")
    text = acme(*PREVIEW, "1", "--event", "evt_1")

    assert (shown.exit_code, shown.stderr) == (0, "")
    document = json.loads(shown.stdout)
    assert (document["kind"], document["type"]) == ("webhook", "contact.created")
    assert document["body"]["data"]["object"]["email"] == "ada@example.com"
    assert json.loads(text.stdout.partition("\n\n")[2]) == document["body"]
    assert "contact.created" in text.stdout.partition("\n\n")[0]


def test_preview__without_an_event_is_about_a_fictitious_person(acme: Run) -> None:
    text = acme(*PREVIEW, "4")

    assert "sales@example.com" in text.stdout
    assert text.stdout.endswith("\n\nAda\nmessage.received\n")


@pytest.mark.parametrize(
    ("endpoint", "why"), [("2", "its types do not include contact.created"), ("3", "its filter does not match the record as it is now")]
)
def test_preview__says_why_an_endpoint_does_not_get_the_event(acme: Run, endpoint: str, why: str) -> None:
    shown = acme(*PREVIEW, endpoint, "--event", "evt_1", "--json")

    assert shown.exit_code == 0
    assert shown.stderr == f"endpoint {endpoint} does not get this event: {why}\n"
    assert json.loads(shown.stdout)["type"] == "contact.created"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "--event", "evt_99"], "there is no event evt_99 in the log of acme"),
        (["1", "--event", "x"], "there is no event x"),
        (["9"], "client acme has no endpoint 9"),
    ],
)
def test_preview__of_what_does_not_exist_says_so(acme: Run, arguments: list[str], message: str) -> None:
    refused = acme(*PREVIEW, *arguments)

    assert (refused.exit_code, message in refused.output) == (1, True)
