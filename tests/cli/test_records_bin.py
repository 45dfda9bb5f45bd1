"""`touchbase contacts` and `companies` delete, restore, merge, duplicates: what the API does, on a store."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.cli.conftest import Run

from touchbase.cli.records import SURVIVORSHIPS
from touchbase.clients.sql.clients import ensure_client
from touchbase.merging.models import SURVIVORSHIPS as POLICIES
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.writes import Creation
from touchbase.stores import open_store

ACME = ("--client", "acme")


@pytest.fixture
def filled(store: Run) -> Run:
    """A client with three contacts, two of them alike, and two companies."""

    async def fill() -> None:
        store = await open_store("sqlite:///touchbase.db")
        client = (await store.write(ensure_client("acme", 1))).number
        for n, (first, email) in enumerate((("Jane", "jane@example.com"), ("Jane", "j.doe@example.com"), ("Cleo", "cleo@example.org"))):
            await store.write(create_contact(Creation(Contact(client, 0, n, n, email, email, first_name=first, last_name="Doe"))))
        for n, domain in enumerate(("a.example", "b.example")):
            await store.write(create_company(Creation(Company(client, 0, n, n, domain, domain.upper()))))
        await store.close()

    asyncio.run(fill())
    return store


def ids(filled: Run, group: str = "contacts") -> list[int]:
    return [item["id"] for item in json.loads(filled(group, "list", *ACME, "--json").stdout)]


def test_survivorships__are_those_of_merges() -> None:
    assert set(SURVIVORSHIPS) == set(POLICIES)


def test_bin__is_listed_for_all_clients_or_one(filled: Run) -> None:
    filled("clients", "add", "birch")
    made = json.loads(filled("contacts", "create", "email=bea@example.com", "--client", "birch", "--json").stdout)
    filled("contacts", "delete", "1", *ACME)
    filled("contacts", "delete", str(made["id"]), "--client", "birch")
    filled("companies", "delete", "1", *ACME)

    def listed(group: str, *options: str) -> list[tuple[str, int]]:
        return [(item["client_id"], item["id"]) for item in json.loads(filled(group, "deleted", *options, "--json").stdout)]

    assert sorted(listed("contacts")) == sorted([("acme", 1), ("birch", made["id"])])
    assert listed("contacts", "--client", "birch") == [("birch", made["id"])]
    assert listed("companies") == [("acme", 1)]
    assert "jane@example.com" in filled("contacts", "deleted").stdout


def test_delete__moves_into_the_bin_and_restore_back(filled: Run) -> None:
    tried = filled("contacts", "delete", "1", "2", "9", *ACME, "--dry-run", "--json")
    before = ids(filled)
    done = filled("contacts", "delete", "1", "2", *ACME)
    left = ids(filled)
    again = filled("contacts", "delete", "1", *ACME)
    restored = filled("contacts", "restore", "1", "3", *ACME, "--json")

    first, _, missing = json.loads(tried.stdout)
    assert {item["field"]: item["previous"] for item in first["changed"]}["email"] == "jane@example.com"
    assert (tried.exit_code, missing["problem"]["code"], before) == (1, "not_found", [1, 2, 3])
    assert (done.exit_code, done.stdout.splitlines(), left) == (0, ["deleted contact 1", "deleted contact 2"], [3])
    assert (again.exit_code, "was deleted" in again.stderr) == (1, True)
    back, refused = json.loads(restored.stdout)
    assert (back["contact"]["email"], refused["problem"]["code"], ids(filled)) == ("jane@example.com", "not_found", [1, 3])


def test_merge__shows_first_and_then_merges(filled: Run) -> None:
    tried: dict[str, Any] = json.loads(filled("contacts", "merge", "1", "2", *ACME, "--dry-run", "--json").stdout)
    done = filled("contacts", "merge", "1", "2", *ACME, "--survivorship", "keep")
    gone = filled("contacts", "merge", "1", "2", *ACME)
    twice = filled("companies", "merge", "1", "1", *ACME)
    companies = json.loads(filled("companies", "merge", "1", "2", *ACME, "--json").stdout)

    assert (tried["merge_id"], tried["merged"], tried["contact"]["email"]) == (None, [2], "jane@example.com")
    assert (done.exit_code, "contact 2 merged (merge 1) into 1" in done.stderr, ids(filled)) == (0, True, [1, 3])
    assert (gone.exit_code, "was merged into 1" in gone.stderr) == (1, True)
    assert (twice.exit_code, companies["company"]["domain"], ids(filled, "companies")) == (2, "a.example", [1])


def test_duplicates__lists_pairs_with_scores(filled: Run) -> None:
    (pair,) = json.loads(filled("contacts", "duplicates", *ACME, "--min-score", "0.8", "--json").stdout)
    shown = filled("contacts", "duplicates", *ACME, "--min-score", "0.8").stdout.splitlines()

    assert [contact["id"] for contact in pair["contacts"]] == [1, 2]
    assert (pair["score"] >= 0.8, len(shown), "Jane Doe" in shown[1]) == (True, 2, True)
    assert filled("companies", "duplicates", *ACME, "--min-score", "1").stderr == "no pair of records seems to be one\n"
