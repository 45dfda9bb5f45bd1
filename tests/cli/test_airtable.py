"""`touchbase contacts, companies import --airtable`: a base of three tables, through the API as Airtable documents it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import click
import pytest
from tests.cli.conftest import Run
from tests.cli.fake_airtable import AT, BASE, TOKEN, FakeAirtable, fake_airtable

from touchbase.cli import airtable
from touchbase.cli.airtable import AirtableBase, write_records


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAirtable]:
    """The fake, and an environment with its token."""
    monkeypatch.setattr(airtable, "INTERVAL", 0.0)
    with fake_airtable() as fake:
        monkeypatch.setenv("AIRTABLE_API_KEY", TOKEN)
        monkeypatch.setenv("AIRTABLE_ENDPOINT_URL", fake.address)
        yield fake


def load(store: Run, record: str, table: str, *options: str) -> Any:
    """Import a table, and return the job."""
    result = store(record, "import", "--airtable", BASE, "--table", table, "--client", "acme", "--json", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def shown(store: Run, record: str) -> list[dict[str, Any]]:
    """The records of the client, with their custom fields as an object."""
    records = json.loads(store(record, "list", "--client", "acme", "--json").stdout)
    custom = {"contacts": "contact_custom_fields", "companies": "company_custom_fields"}[record]
    return [item | {"custom": {first["field_name"]: first["field_value"] for first in item.pop(custom)}} for item in records]


def test_airtable__gives_people_their_companies_and_every_kind_of_cell(store: Run, fake: FakeAirtable) -> None:
    store("clients", "add", "acme")

    load(store, "companies", "Companies")
    job = load(store, "contacts", "people")
    again = load(store, "contacts", "People")

    acme, beta = shown(store, "companies")
    ann, bob, cy = shown(store, "contacts")
    assert (acme["domain"], acme["name"], acme["custom"]["Employees"], acme["custom"]["Airtable created"]) == (
        "acme.com",
        "Acme",
        "120",
        AT,
    )
    assert (beta["domain"], beta["name"], beta["custom"]["People"]) == ("", "Beta", "Bob Ray")
    assert (ann["first_name"], ann["last_name"], ann["email"], ann["external_id"]) == ("Ann", "Lee", "ann@acme.com", "recAnn")
    assert (ann["contact_status"], ann["company_id"], bob["company_id"], cy["company_id"]) == (
        "replied",
        acme["id"],
        beta["id"],
        acme["id"],
    )
    assert ann["custom"] == {
        "Company (further)": "Beta", "Tags": "lead, warm", "Files": "https://files.example/a.pdf", "Greeting": "Hi Ann", "Score": "0.5",
        "Owner": "Sam Poe", "Deals": "Acme 2026", "Created": AT, "Last modified": "2026-11-20T10:00:00.000Z",
    }  # fmt: skip
    assert (cy["first_name"], cy.get("email"), cy["custom"]) == ("Cy", None, {"Created": AT})
    progress = job["progress"]
    assert (progress["rows"], progress["created"], progress["not_a_row"], progress["opt_outs_taken"]) == (4, 3, 1, 1)
    assert (again["progress"]["unchanged"], again["progress"]["not_a_row"]) == (3, 1)
    assert store("suppressions", "list", "--client", "acme").output.count("bob@beta.io") == 1


def test_airtable__reads_a_view_and_other_fields_of_columns(store: Run, fake: FakeAirtable) -> None:
    store("clients", "add", "acme")

    load(store, "contacts", "People", "--view", "First", "--map", "Airtable id=", "--map", "Greeting=cf.Hello")

    (ann,) = shown(store, "contacts")
    assert (ann.get("external_id"), ann["custom"]["Hello"]) == (None, "Hi Ann")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a FILE, or --airtable BASE with --table TABLE"),
        (("x.csv", "--airtable", BASE), "give a FILE, or --airtable BASE with --table TABLE"),
        (("x.csv", "--table", "People"), "--table and --view go with --airtable"),
        (("--airtable", BASE), "--airtable needs --table, the name of the table"),
        (("--airtable", BASE, "--table", "Persons"), "'Persons' is no table of the base; it has: Companies, People, Deals"),
        (("--airtable", "appOther", "--table", "People"), "the scopes data.records:read and schema.bases:read"),
    ],
)
def test_airtable__says_what_to_give_instead(store: Run, fake: FakeAirtable, arguments: tuple[str, ...], message: str) -> None:
    store("clients", "add", "acme")

    result = store("contacts", "import", *arguments, "--client", "acme")

    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert TOKEN not in result.output


def test_airtable__needs_a_token_that_airtable_knows(store: Run, fake: FakeAirtable, monkeypatch: pytest.MonkeyPatch) -> None:
    store("clients", "add", "acme")
    arguments = ("contacts", "import", "--airtable", BASE, "--table", "People", "--client", "acme")

    monkeypatch.setenv("AIRTABLE_API_KEY", "another")
    wrong = store(*arguments)
    monkeypatch.delenv("AIRTABLE_API_KEY")
    none = store(*arguments)
    monkeypatch.setenv("AIRTABLE_API_KEY", TOKEN)
    monkeypatch.setenv("AIRTABLE_ENDPOINT_URL", "http://airtable.example")
    bare = store(*arguments)

    assert "Airtable does not know the token" in wrong.output
    assert "needs a token in the environment variable AIRTABLE_API_KEY" in none.output
    assert "must begin with https://" in bare.output


class Clock:
    """Seconds that pass only during waits."""

    def __init__(self) -> None:
        self.now, self.waits = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))
        self.now += seconds


@contextmanager
def serving(clock: Clock) -> Iterator[tuple[FakeAirtable, AirtableBase]]:
    """The fake, and its base by this clock."""
    with fake_airtable() as fake, closing(AirtableBase(BASE, TOKEN, fake.address, seconds=clock, sleep=clock.sleep)) as base:
        yield fake, base


def test_records__come_page_by_page_five_requests_a_second() -> None:
    clock = Clock()
    with serving(clock) as (fake, base):
        fake.page = 1

        records = list(base.records(base.tables()[1]))

    assert [record["id"] for record in records] == ["recAnn", "recBob", "recCy", "recEmpty"]
    assert (len(fake.requests), clock.waits) == (5, [0.2] * 4)
    assert all("pageSize=100" in request for request in fake.requests[1:])


def test_records__wait_half_a_minute_after_a_429_and_begin_again_when_the_list_has_expired() -> None:
    clock, file = Clock(), io.BytesIO()
    expired = {"error": {"type": "LIST_RECORDS_ITERATOR_NOT_AVAILABLE", "message": ""}}
    with serving(clock) as (fake, base):
        fake.refused = [(429, {"errors": []}), (503, {}), (422, expired)]

        count, targets = write_records(base, "tblDeals00000001", "", "contact", file)

    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert (count, targets) == (1, {"Airtable id": "external_id"})
    assert lines == [{"Airtable id": "recDeal", "Title": "Acme 2026", "Amount": "1200.5", "Person": "Ann Lee", "Airtable created": AT}]
    assert 30.0 in clock.waits


HOSTILE: dict[str, tuple[object, str]] = {
    "circle": ({"records": [], "offset": "itr/0"}, "the list of 'People' has no end"),
    "long": ({"records": [], "offset": "i" * 201}, "the list of 'People' has no end"),
    "none": ({"entries": []}, "is none of Airtable's API: ValidationError Object missing required field `records`"),
    "numbers": ({"records": [{"id": 5, "fields": {}}]}, "Expected `str`, got `int` - at `$.records[0].id`"),
    "nested": (b"[" * 100_000, "is none of Airtable's API: RecursionError"),
    "page": (b"<html>", "is none of Airtable's API: DecodeError"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_answers__that_are_not_airtables_end_with_the_reason(kind: str) -> None:
    body, message = HOSTILE[kind]
    with serving(Clock()) as (fake, base):
        people = base.tables()[1]
        fake.refused = [(200, body)] * 3

        with pytest.raises(click.ClickException, match=re.escape(message)):
            list(base.records(people))

    assert len(fake.requests) <= 3


def test_refusal_of_airtable__is_cut_and_moves_no_cursor(store: Run, fake: FakeAirtable) -> None:
    fake.refused = [(418, {"error": {"type": "TEAPOT", "message": "\x1b[2J" + "x" * 100_000}})]

    store("clients", "add", "acme")
    result = store("contacts", "import", "--airtable", BASE, "--table", "People", "--client", "acme")

    assert "Airtable answers 418 TEAPOT" in result.output
    assert ("\x1b" in result.output, len(result.output) < 1_000) == (False, True)


def test_records__that_airtable_never_returns_end_with_what_to_do() -> None:
    with serving(Clock()) as (fake, base):
        fake.refused = [(429, {})] * 10

        with pytest.raises(click.ClickException, match="Airtable answers 429; run the command again later"):
            write_records(base, "People", "", "contact", io.BytesIO())
