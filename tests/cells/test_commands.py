"""Commands on an installation with cells: over all stores, or with a word about the stores that they leave out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.cells.conftest import KEY
from tests.cli.conftest import Run, own_logging, run
from tests.conftest import Databases, with_postgres_tools

from touchbase.encryption.keys import encode_key, new_key
from touchbase.storage.postgres.backup import for_tools

__all__ = ["own_logging", "run"]


@pytest.fixture
def eu(cell_urls: list[str]) -> str:
    """The address of the cell eu."""
    return cell_urls[0]


@pytest.fixture
def spread(run: Run, postgres_url: str, eu: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A home store with the client bolt, and the cell eu with the client acme, which has a contact and a connection with a secret."""
    monkeypatch.setenv("TOUCHBASE_DATABASE", postgres_url)
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)
    monkeypatch.setenv("PATH", with_postgres_tools()["PATH"])
    Path("people.csv").write_text("email\nada@example.com\n")
    done = [
        run("databases", "add", "eu", "--database", eu),
        run("clients", "add", "bolt", "--to", "home"),
        run("clients", "add", "acme", "--to", "eu"),
        run("contacts", "import", "--client", "acme", "people.csv"),
        run("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "goldfinch-goldfinch"),
    ]
    assert [item.exit_code for item in done] == [0] * 5, [item.output for item in done]
    return run


@contextmanager
def lost(databases: Databases, url: str) -> Iterator[None]:
    """Context in which a cell's database is gone."""
    databases.hide(url)
    try:
        yield
    finally:
        databases.show(url)


def restore(file: str, url: str) -> None:
    """Restore a dump with PostgreSQL's own tool."""
    address, environment = for_tools(url)
    command = ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={address}", file]
    subprocess.run(command, env={**environment, "PGPASSWORD": urlsplit(address).username or ""}, check=True)


def details_of_eu(run: Run) -> list[str]:
    """What `touchbase doctor` finds about the cell eu."""
    return [finding["detail"] for finding in json.loads(run("doctor", "--json").stdout)["findings"] if finding["check"] == "database eu"]


def test_verify__reads_all_cells_and_fails_if_one_is_down(spread: Run, databases: Databases, eu: str) -> None:
    full = spread("verify")
    with lost(databases, eu):
        assert spread("verify").exit_code == 1
        assert spread("verify", "--client", "bolt").exit_code == 0

    assert "verified 1 contacts" in full.output


def test_cells_migrate__refuses_a_cell_whose_store_is_empty(spread: Run, databases: Databases, eu: str) -> None:
    with lost(databases, eu):
        databases.create(eu)
        migrated = spread("databases", "migrate")

    assert migrated.exit_code == 1
    assert "the store at its address is empty" in migrated.output


def test_migrate__names_the_cells_that_it_leaves_out(spread: Run, eu: str) -> None:
    assert "the other databases (eu) are not changed: `touchbase databases migrate`" in spread("migrate").output
    assert "other databases" not in spread("migrate", "--database", eu).output


def test_backup__names_the_cells_that_are_not_in_it(spread: Run) -> None:
    home, in_json = spread("backup", "home.dump"), spread("backup", "--json", "home2.dump")

    assert "the other databases (eu) are not in it: back up each, `touchbase backup --from NAME FILE`" in home.stderr
    assert json.loads(in_json.stdout)["other_databases"] == ["eu"]


def test_backup__of_a_cell_is_restored_in_its_place(spread: Run, databases: Databases, eu: str) -> None:
    created = spread("backup", "--from", "eu", "eu.dump", "--json")
    spread("clients", "add", "later", "--to", "eu")
    with lost(databases, eu):
        databases.create(eu)
        restore("eu.dump", eu)

        contacts = spread("contacts", "list", "--client", "acme").output
        details = details_of_eu(spread)

    assert (json.loads(created.stdout)["rows"]["contact"], created.stderr) == (1, "")
    assert "ada@example.com" in contacts
    assert "it lacks clients that the directory has, whose requests are 404: later" in details


def test_backup__of_an_unknown_cell_is_refused(spread: Run) -> None:
    refused = spread("backup", "--from", "mars", "mars.dump")

    assert refused.exit_code == 1
    assert "there is no database 'mars': `touchbase databases list` shows all" in refused.output


def test_restore__of_a_home_store_on_sqlite_says_that_cells_stay_and_doctor_finds_their_new_clients(
    spread: Run, cell_urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_DATABASE", "sqlite:///home.db")
    spread("migrate")
    spread("databases", "add", "eu", "--database", cell_urls[1])
    spread("backup", "home.backup")
    spread("clients", "add", "later", "--to", "eu")

    restored = spread("restore", "home.backup")

    assert "the other databases (eu) were left as they are: `touchbase doctor` says" in restored.stderr
    assert "it has clients that the directory lacks, whose requests are 404: later" in details_of_eu(spread)


def test_copy__says_that_cells_stay_where_they_are(spread: Run, postgres_url: str) -> None:
    copied = spread("copy", "--from", postgres_url, "--to", "sqlite:///new.db")

    assert copied.exit_code == 0, copied.output
    assert "the other databases (eu) stay where they are" in copied.stderr
    assert "acme" in spread("clients", "list", "--database", "sqlite:///new.db").output


def test_doctor__looks_at_every_cell(spread: Run, databases: Databases, eu: str) -> None:
    fine = details_of_eu(spread)
    with lost(databases, eu):
        assert spread("doctor").exit_code == 1
        (down,) = details_of_eu(spread)

    assert fine == ["it answers, and has the clients that the directory names"]
    assert "does not exist" in down


def test_doctor__names_what_is_wrong_in_a_cell(spread: Run, databases: Databases, eu: str) -> None:
    databases.execute(eu, "UPDATE connection SET created_us = 1")

    (detail,) = details_of_eu(spread)

    assert detail.startswith("connections: acme hubspot (crm): nothing was ever received")


def test_vacuum__covers_every_cell_and_fails_for_one_that_is_down(spread: Run, databases: Databases, eu: str) -> None:
    done = spread("vacuum")
    with lost(databases, eu):
        failed = spread("vacuum")

    assert (done.exit_code, done.output) == (0, "the files of all 2 stores have no trace of deleted rows\n")
    assert failed.exit_code == 1
    assert "eu: " in failed.output


def test_encryption_keys__check_and_rotation_cover_all_cells(spread: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads(spread("encryption-keys", "check", "--json").stdout)
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY_OLD", KEY)

    rotated = spread("encryption-keys", "rotate", "--json")
    monkeypatch.delenv("TOUCHBASE_ENCRYPTION_KEY_OLD")

    assert rotated.exit_code == 0, rotated.output
    assert (sum(before["sealed"].values()), json.loads(rotated.stdout)["sealed"]) == (2, 2)  # a cell's address, and a secret in it
    assert spread("encryption-keys", "check").exit_code == 0
    assert spread("connections", "list", "--client", "acme").exit_code == 0


def test_encryption_keys__are_not_rotated_while_a_cell_is_down(
    spread: Run, databases: Databases, eu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY_OLD", KEY)
    with lost(databases, eu):
        rotated, checked = spread("encryption-keys", "rotate"), spread("encryption-keys", "check", "--json")

    assert rotated.exit_code == 1
    assert "database eu cannot be used" in rotated.output
    assert checked.exit_code == 1
    assert list(json.loads(checked.stdout)["not_checked"]) == ["eu"]
    assert sum(json.loads(spread("encryption-keys", "check", "--json").stdout)["sealed"].values()) == 2


def test_encryption_keys_check__names_the_cell_whose_key_is_missing(spread: Run, eu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = new_key()
    spread("connections", "remove", "--client", "acme", "--channel", "crm", "--tool", "hubspot")
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY_OLD", KEY)
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(secret))
    spread("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "goldfinch-goldfinch")
    monkeypatch.delenv("TOUCHBASE_ENCRYPTION_KEY_OLD")
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)

    checked = spread("encryption-keys", "check")

    assert checked.exit_code == 1
    assert "cannot be decrypted: database eu: the secret of hubspot (crm) of client 'acme'" in checked.output
