"""`touchbase messages`: mails and LinkedIn messages on the command line."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Run

from touchbase.cli.store import opened
from touchbase.cli.store import run as run_now
from touchbase.clients.sql.clients import find_client
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import create_message
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation

ACME = ("--client", "acme")


async def _fill() -> None:
    async with opened(None) as store:
        client = await store.read(find_client("acme"))
        assert client is not None
        contact = (await store.write(create_contact(Creation(Contact(client.number, 0, 5, 5, "j@example.com", "j@example.com"))))).record
        for n, direction in enumerate(("sent", "received")):
            message = Message(0, direction, "email", n, f"made{n}", None, n, "api", subject=f"Mail {n}", contact_id=contact.id)
            await store.write(create_message(client.number, message))


def test_messages__are_listed_newest_first_and_shown(store: Run) -> None:
    assert store("clients", "add", "acme").exit_code == 0
    run_now(_fill())

    first = store("messages", "list", *ACME, "--limit", "1", "--json")
    [newest] = json.loads(first.stdout)
    second = store("messages", "list", *ACME, "--after", str(newest["id"]), "--email", "J@example.com")

    assert newest["subject"] == "Mail 1"
    assert f"--after {newest['id']}" in first.stderr
    assert ("Mail 0" in second.stdout, "Mail 1" in second.stdout) == (True, False)
    assert json.loads(store("messages", "get", *ACME, str(newest["id"])).stdout) == newest
    assert "no message with id 99" in store("messages", "get", *ACME, "99").output


@pytest.mark.parametrize(
    "options",
    [
        ["--subject", "Mail 1"], ["--channel", "linkedin"], ["--campaign", "c1"], ["--tool", "t1"], ["--mailbox", "m1@our.example"],
        ["--interested", "true"], ["--since", "1970-01-01T00:00:01Z"], ["--direction", "received"], ["--contact", "2"],
    ],
)  # fmt: skip
def test_list__has_the_filters_of_the_api(store: Run, options: list[str]) -> None:
    assert store("clients", "add", "acme").exit_code == 0
    run_now(_fill_differently())

    result, others = (store("messages", "list", *ACME, *option, "--json") for option in (options, []))

    assert [item["subject"] for item in json.loads(result.stdout)] == ["Mail 1"]
    assert len(json.loads(others.stdout)) == 2
    assert json.loads(store("messages", "list", *ACME, "--until", "1970-01-01T00:00:00Z", "--json").stdout) == []


async def _fill_differently() -> None:
    """Two messages that differ in all that filters compare."""
    async with opened(None) as store:
        client = await store.read(find_client("acme"))
        assert client is not None
        for n, (direction, channel) in enumerate((("sent", "email"), ("received", "linkedin"))):
            address = f"j{n}@example.com"
            contact = (await store.write(create_contact(Creation(Contact(client.number, 0, 5, 5, address, address))))).record
            message = Message(
                0, direction, channel, n * 2_000_000, f"made{n}", None, n, f"t{n}", f"m{n}@our.example", f"Mail {n}",
                campaign_id=f"c{n}", interested=bool(n), contact_id=contact.id,
            )  # fmt: skip
            await store.write(create_message(client.number, message))


def test_messages__are_copied_to_postgresql_and_back(store: Run, empty_postgres_url: str) -> None:
    assert store("clients", "add", "acme").exit_code == 0
    run_now(_fill())
    listed = store("messages", "list", *ACME, "--json").stdout

    assert store("copy", "--from", "sqlite:///touchbase.db", "--to", empty_postgres_url).exit_code == 0
    assert store("copy", "--from", empty_postgres_url, "--to", "sqlite:///back.db").exit_code == 0

    back = {"TOUCHBASE_DATABASE": "sqlite:///back.db"}
    assert len(json.loads(listed)) == 2
    assert store("messages", "list", *ACME, "--json", env=back).stdout == listed
