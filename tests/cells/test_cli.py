"""`touchbase cells`: an operator spreads clients over several databases."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.cells.conftest import KEY, OPEN
from tests.cli.conftest import Run, own_logging, run, store
from tests.conftest import Databases

from touchbase.cells.sql import add_cell

__all__ = ["own_logging", "run", "store"]


@pytest.fixture
def keyed(store: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A home store, with the key that cells share."""
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)
    return store


@pytest.fixture
def spread(keyed: Run, cell_urls: list[str]) -> Run:
    """A home store with the cell eu."""
    created = keyed("databases", "add", "eu", "--database", cell_urls[0])
    assert created.exit_code == 0, created.output
    return keyed


def listed(run: Run) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(run("databases", "list", "--json").stdout)
    return document


def test_cells__hold_the_clients_that_are_added_to_them(spread: Run, cell_urls: list[str]) -> None:
    assert spread("clients", "add", "acme", "--to", "eu").exit_code == 0
    assert spread("clients", "add", "bolt", "--to", "home").exit_code == 0

    assert [(item["name"], item["clients"], item["reason"]) for item in listed(spread)] == [("home", 1, None), ("eu", 1, None)]
    assert [line.split()[0] for line in spread("clients", "list").output.splitlines()[1:]] == ["acme", "bolt"]
    alone = spread("clients", "list", "--database", cell_urls[0])
    assert "acme" in alone.output
    assert "bolt" not in alone.output


def test_clients_move__moves_a_client_with_its_key_and_says_what_cannot_be(spread: Run) -> None:
    assert spread("clients", "add", "acme", "--to", "home").exit_code == 0
    created = spread("keys", "create", "--client", "acme", "--name", "crm")
    assert created.exit_code == 0, created.output
    [made] = json.loads(spread("keys", "list", "--json").stdout)

    moved = spread("clients", "move", "acme", "--to", "eu")
    again = spread("clients", "move", "acme", "--to", "eu")

    assert "acme lives in eu now" in moved.output
    assert "acme lives in eu and is served" in again.output
    assert [each["clients"] for each in listed(spread)] == [0, 1]
    assert [each["key_id"] for each in json.loads(spread("keys", "list", "--json").stdout)] == [made["key_id"]]
    assert "client acme" not in spread("doctor").output
    for words, said in ((("acme", "--to", "mars"), "no database 'mars'"), (("nobody", "--to", "eu"), "no client 'nobody'")):
        refused = spread("clients", "move", *words)
        assert (refused.exit_code, said in refused.output) == (1, True)


def test_cells__one_that_does_not_answer_is_listed_with_the_reason(spread: Run, databases: Databases, cell_urls: list[str]) -> None:
    databases.hide(cell_urls[0])
    try:
        (_, eu) = listed(spread)
        table = spread("databases", "list").output
    finally:
        databases.show(cell_urls[0])

    assert "does not exist" in eu["reason"]
    assert "no: " in table


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "eu", "--database", "{us}"), "there is a database 'eu' already"),
        (("add", "us", "--database", "sqlite:///touchbase.db"), "the home database itself"),
        (("add", "US", "--database", "{us}"), "write 1 to 40 of a-z"),
        (("add", "home", "--database", "{us}"), "'home' is the home database"),
        (("add", "us", "--database", "mysql://x/y"), "no storage engine is called 'mysql'"),
        (("drain", "us"), "there is no database 'us'"),
        (("remove", "us"), "`touchbase databases list` shows all"),
        (("migrate", "us"), "there is no database us"),
    ],
)
def test_cells__refuse_and_say_what_to_do(spread: Run, cell_urls: list[str], arguments: tuple[str, ...], says: str) -> None:
    refused = spread("databases", *(argument.replace("{us}", cell_urls[1]) for argument in arguments))

    assert refused.exit_code in (1, 2)
    assert says in refused.output


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            "sqlite:///us.db",
            "clients live in PostgreSQL databases, and this address names a SQLite file: name an empty database, postgresql://",
        ),
        ("postgresql://db/touchbase?search_path=us", "this address names a schema in a database: name an empty database"),
    ],
)
def test_add__refuses_what_is_no_database_of_its_own(keyed: Run, address: str, says: str) -> None:
    refused = keyed("databases", "add", "us", "--database", address)

    assert refused.exit_code == 1
    assert says in " ".join(refused.output.split())
    assert not Path("us.db").exists()
    assert [item["name"] for item in listed(keyed)] == ["home"]


@pytest.mark.parametrize(
    ("address", "kind"), [("sqlite:///old.db", "a SQLite file"), ("postgresql://db/touchbase?search_path=old", "a schema in a database")]
)
def test_start__is_refused_while_the_directory_names_a_cell_that_earlier_versions_made(keyed: Run, address: str, kind: str) -> None:
    async def add() -> None:
        home = await OPEN("sqlite:///touchbase.db")
        await home.write(add_cell("old", address, 5))
        await home.close()

    asyncio.run(add())

    refused = [keyed(*command) for command in (("serve", "--port", "0"), ("worker", "--once"), ("clients", "list"))]
    (result,) = [finding for finding in json.loads(keyed("doctor", "--json").stdout)["findings"] if finding["check"] == "database old"]

    assert [item.exit_code for item in refused] == [1, 1, 1]
    for text in (*(" ".join(item.output.split()) for item in refused), result["detail"]):
        assert f"database old is {kind}, and this version has PostgreSQL databases only" in text
        assert "remove it (`touchbase cells remove old`), then start this one" in text
    assert not Path("old.db").exists()


def test_add__refuses_a_store_with_clients_or_cells_of_its_own(spread: Run, cell_urls: list[str]) -> None:
    spread("clients", "add", "acme", "--to", "eu")
    assert spread("migrate", "--database", cell_urls[1]).exit_code == 0
    assert spread("databases", "add", "far", "--database", "postgresql://db/x", "--home", cell_urls[1]).exit_code == 1

    used = spread("databases", "add", "us", "--database", cell_urls[0])

    assert used.exit_code == 1
    assert "this store has clients" in used.output


def test_set_address__serves_a_copy_and_refuses_what_is_not_one(spread: Run, databases: Databases, cell_urls: list[str]) -> None:
    eu, us = cell_urls
    spread("clients", "add", "acme", "--to", "eu")
    before = addresses(spread)
    empty = databases.empty()
    assert spread("databases", "add", "us", "--database", us).exit_code == 0
    for name, address, says in (
        ("eu", us, "this is another database, not eu"),
        ("eu", empty, "this database is empty, or has an older schema"),
        ("eu", "postgresql://127.0.0.1:1/nowhere", "cannot use PostgreSQL"),
        ("eu", "sqlite:///touchbase.db", "clients live in PostgreSQL databases"),
        ("mars", eu, "there is no database 'mars'"),
        ("home", eu, "change TOUCHBASE_DATABASE"),
    ):
        refused = spread("databases", "set-address", name, address)
        assert (refused.exit_code, says in " ".join(refused.output.split())) == (1, True), refused.output
    assert addresses(spread)["eu"] == before["eu"]

    copy = databases.copy(eu)
    databases.execute(eu, f"ALTER DATABASE {_name(copy)} SET default_transaction_read_only = on")
    assert "read-only" in spread("databases", "set-address", "eu", copy).output
    assert addresses(spread)["eu"] == before["eu"]
    databases.execute(eu, f"ALTER DATABASE {_name(copy)} RESET default_transaction_read_only")
    spread("clients", "add", "later", "--to", "eu")
    moved = spread("databases", "set-address", "eu", copy, "--json")

    assert moved.exit_code == 0, moved.output
    assert json.loads(moved.stdout)["lacking_clients"] == ["later"]
    assert _name(copy) in addresses(spread)["eu"]
    assert spread("contacts", "list", "--client", "acme").exit_code == 0
    databases.drop(copy)


def addresses(run: Run) -> dict[str, str]:
    """Return the address of each database."""
    return {item["name"]: item["address"] for item in listed(run)}


def _name(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


def test_drain__lets_no_new_client_in_and_undo_does_again(spread: Run) -> None:
    spread("clients", "add", "bolt", "--to", "home")
    assert spread("databases", "drain", "eu").exit_code == 0
    spread("clients", "add", "acme")
    assert [item["clients"] for item in listed(spread)] == [2, 0]

    assert spread("databases", "drain", "eu", "--undo").exit_code == 0
    spread("clients", "add", "corp")

    assert [item["clients"] for item in listed(spread)] == [2, 1]


def test_drain__leaves_the_clients_where_they_are(spread: Run) -> None:
    Path("people.csv").write_text("email\nada@example.com\n")
    spread("clients", "add", "acme", "--to", "eu")

    drained = spread("databases", "drain", "eu")

    assert "database eu is draining; 1 clients live there" in drained.output
    assert spread("contacts", "import", "--client", "acme", "people.csv").exit_code == 0
    assert [item["clients"] for item in listed(spread)] == [0, 1]


def test_remove__refuses_while_clients_live_there(spread: Run) -> None:
    spread("clients", "add", "acme", "--to", "eu")

    refused = spread("databases", "remove", "eu")

    assert refused.exit_code == 1
    assert "clients live in 'eu': move them" in refused.output


def test_remove__forgets_an_empty_cell_and_leaves_its_database(spread: Run, cell_urls: list[str]) -> None:
    removed = spread("databases", "remove", "eu")

    assert removed.exit_code == 0, removed.output
    assert spread("clients", "list", "--database", cell_urls[0]).exit_code == 0
    assert [item["name"] for item in listed(spread)] == ["home"]


def test_migrate__says_what_ran_in_each_cell(spread: Run) -> None:
    done = spread("databases", "migrate", "--json")

    assert json.loads(done.output) == {"migrated": {"eu": []}, "failed": {}}


def test_migrate__goes_on_behind_a_cell_that_fails(spread: Run, databases: Databases, cell_urls: list[str]) -> None:
    spread("databases", "add", "us", "--database", cell_urls[1])
    databases.hide(cell_urls[0])
    try:
        done = spread("databases", "migrate", "--json")
    finally:
        databases.show(cell_urls[0])

    assert done.exit_code == 1
    assert json.loads(done.stdout)["migrated"] == {"us": []}
    assert list(json.loads(done.stdout)["failed"]) == ["eu"]


def test_former_names__are_refused_with_the_present_one(spread: Run) -> None:
    refused = [spread("clients", "add", "acme", "--cell", "eu"), spread("backup", "--cell", "eu", "eu.dump")]

    assert [(item.exit_code, item.stderr.rpartition("Error: ")[2].strip()) for item in refused] == [
        (2, "--cell is called --to now"), (2, "--cell is called --from now"),
    ]  # fmt: skip
