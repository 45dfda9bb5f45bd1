"""`touchbase messages`: mails and LinkedIn messages on the command line."""

from __future__ import annotations

import json

from tests.cli.conftest import Run

from touchbase.cli.store import opened
from touchbase.cli.store import run as run_now
from touchbase.clients import FindClient
from touchbase.messages import CreateMessage, Message
from touchbase.records import Contact, CreateContact

ACME = ("--client", "acme")


async def _fill() -> None:
    async with opened(None) as store:
        client = await store.read(FindClient("acme"))
        assert client is not None
        contact = (await store.write(CreateContact(Contact(client.number, 0, 5, 5, "j@example.com", "j@example.com")))).record
        for n, direction in enumerate(("sent", "received")):
            message = Message(0, direction, "email", n, f"made{n}", None, n, "api", subject=f"Mail {n}", contact_id=contact.id)
            await store.write(CreateMessage(client.number, message))


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


def test_messages__are_copied_to_postgresql_and_back(store: Run, empty_postgres_url: str) -> None:
    assert store("clients", "add", "acme").exit_code == 0
    run_now(_fill())
    listed = store("messages", "list", *ACME, "--json").stdout

    assert store("copy", "--from", "sqlite:///touchbase.db", "--to", empty_postgres_url).exit_code == 0
    assert store("copy", "--from", empty_postgres_url, "--to", "sqlite:///back.db").exit_code == 0

    back = {"TOUCHBASE_DATABASE": "sqlite:///back.db"}
    assert len(json.loads(listed)) == 2
    assert store("messages", "list", *ACME, "--json", env=back).stdout == listed
