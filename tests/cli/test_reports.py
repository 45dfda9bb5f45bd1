"""`touchbase reports`: the reports of the API on a store."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.cli.conftest import Run

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import from_text
from touchbase.history.events import CONTACT, VIA_EMAIL, StoredEvent
from touchbase.history.sql import INSERT_EVENT, event_row
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.sql.statement import Execute
from touchbase.storage.sqlite.connection import open_writer, write
from touchbase.stores import open_store

AT = from_text("2026-10-05T08:00:00Z")
SINCE = "2026-10-01"


@pytest.fixture
def filled(store: Run) -> Run:
    """Two clients with a contact each, one of them mailed."""

    async def fill() -> None:
        store = await open_store("sqlite:///touchbase.db")
        for name in ("acme", "beta"):
            client = (await store.write(ensure_client(name, 1))).number
            await store.write(create_contact(Creation(Contact(client, 0, AT, AT, "ann@example.com", "ann@example.com", status="new"))))
        await store.close()

    asyncio.run(fill())
    sent = StoredEvent(CONTACT, 1, AT, "k", "email_sent", "sent", None, "camp", "email_campaign", "Autumn", 1, AT, VIA_EMAIL, {}, "7")
    connection = open_writer("touchbase.db", durable=False)
    write(connection.cursor(), (step for step in [Execute(INSERT_EVENT, [event_row(1, sent)])]))
    connection.close()
    return store


def test_status__counts_one_client(filled: Run) -> None:
    result = filled("reports", "status", "--client", "acme", "--since", SINCE, "--until", "2026-10-31", "--interval", "month", "--json")

    assert json.loads(result.stdout) == [
        {
            "client_id": "acme", "begins_at": "2026-10-01T00:00:00Z", "ends_at": "2026-10-31T00:00:00Z", "status": "new", "records": 1,
            "entered": 1,
        }
    ]  # fmt: skip
    assert result.exit_code == 0


def test_campaigns__without_a_client_are_of_all(filled: Run) -> None:
    result = filled("reports", "campaigns", "--since", SINCE, "--until", "2026-10-31", "--group-by", "campaign,week")

    assert result.stdout.splitlines()[1].split()[0] == "acme"
    assert "Autumn" in result.stdout
    assert len(result.stdout.splitlines()) == 2


def test_campaigns__of_all_name_the_client_that_is_left_out(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.reports.sql.campaigns.MOST_ROWS", 0)

    result = filled("reports", "campaigns", "--since", SINCE, "--until", "2026-10-31")

    assert "left out: acme, which has too many rows; read it with --client" in result.stderr
    assert result.exit_code == 0


def test_campaigns__names_the_option_that_is_wrong(filled: Run) -> None:
    result = filled("reports", "campaigns", "--client", "acme", "--since", "soon", "--time-zone", "Mars")

    assert result.exit_code == 2
    assert "--since" in result.stderr
    assert "--time-zone" in result.stderr


def test_status__says_when_there_is_nothing(store: Run) -> None:
    assert "nothing to report" in store("reports", "status").stderr
