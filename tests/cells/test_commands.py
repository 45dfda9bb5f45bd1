"""Commands on an installation with cells: over all stores, or with a word about the stores that they leave out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import pytest
from tests.cells.conftest import KEY
from tests.cli.conftest import Run, own_logging, run, store
from tests.conftest import Databases, with_postgres_tools
from touchbase.storage.postgres.address import schema_of

from touchbase.encryption import encode_key, new_key
from touchbase.storage.postgres.backup import for_tools

__all__ = ["own_logging", "run", "store"]


@pytest.fixture
def spread(store: Run) -> Run:
    """A home store with the client bolt, and the cell eu with the client acme, which has a contact and a connection with a secret."""
    Path("people.csv").write_text("email\nada@example.com\n")
    done = [
        store("cells", "add", "eu", "--database", "sqlite:///eu.db"),
        store("clients", "add", "bolt", "--cell", "home"),
        store("clients", "add", "acme", "--cell", "eu"),
        store("contacts", "import", "--client", "acme", "people.csv"),
        store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "goldfinch-goldfinch"),
    ]
    assert [each.exit_code for each in done] == [0] * 5, [each.output for each in done]
    return store


def lose(path: str) -> None:
    """Let a cell's file be gone."""
    for file in Path().glob(f"{path}*"):
        if not file.name.endswith(".key"):
            file.rename(f"gone-{file.name}")


def find_back(path: str) -> None:
    for file in Path().glob(f"gone-{path}*"):
        file.rename(file.name.removeprefix("gone-"))


def test_verify__reads_all_cells_and_fails_if_one_is_down(spread: Run) -> None:
    whole = spread("verify")
    lose("eu.db")

    assert "verified 1 contacts" in whole.output
    assert spread("verify").exit_code == 1
    assert spread("verify", "--client", "bolt").exit_code == 0


def test_missing_file_of_a_cell__is_not_replaced_by_an_empty_store(spread: Run) -> None:
    lose("eu.db")

    listed = json.loads(spread("cells", "list", "--json").stdout)
    migrated = spread("cells", "migrate")
    made = Path("eu.db").exists()
    find_back("eu.db")

    assert "there is no file eu.db" in listed[1]["reason"]
    assert migrated.exit_code == 1
    assert not made
    assert "acme" in spread("clients", "list").output


def test_cells_migrate__refuses_a_cell_whose_store_is_empty(spread: Run) -> None:
    lose("eu.db")
    apsw.Connection("eu.db").close()

    migrated = spread("cells", "migrate")

    assert migrated.exit_code == 1
    assert "the store at its address is empty" in migrated.output


def test_migrate__names_the_cells_that_it_leaves_out(spread: Run) -> None:
    assert "its cells (eu) are stores of their own: `touchbase cells migrate`" in spread("migrate").output
    assert "cells" not in spread("migrate", "--database", "sqlite:///eu.db").output


def test_backup__names_the_cells_that_are_not_in_it(spread: Run) -> None:
    home, cell = spread("backup", "home.backup"), spread("backup", "--json", "home2.backup")

    assert "its cells (eu) are not in it: back up each, `touchbase backup --cell NAME FILE`" in home.stderr
    assert json.loads(cell.stdout)["other_cells"] == ["eu"]


def test_backup__of_a_cell_is_restored_in_its_place(spread: Run) -> None:
    made = spread("backup", "--cell", "eu", "eu.backup")
    assert (made.exit_code, made.stderr) == (0, ""), made.output
    spread("clients", "add", "later", "--cell", "eu")
    lose("eu.db")

    restored = spread("restore", "--database", "sqlite:///eu.db", "eu.backup")

    assert restored.exit_code == 0, restored.output
    assert "ada@example.com" in spread("contacts", "list", "--client", "acme").output
    doctor = spread("doctor", "--json")
    details = [each["detail"] for each in json.loads(doctor.stdout)["findings"] if each["check"] == "cell eu"]
    assert "it lacks clients that the directory has, whose requests are 404: later" in details


def test_backup__of_an_unknown_cell_is_refused(spread: Run) -> None:
    refused = spread("backup", "--cell", "mars", "mars.backup")

    assert refused.exit_code == 1
    assert "there is no cell 'mars': `touchbase cells list` shows all" in refused.output


def test_restore__of_the_home_store_says_that_cells_stay_and_doctor_finds_their_new_clients(spread: Run) -> None:
    spread("backup", "home.backup")
    spread("clients", "add", "later", "--cell", "eu")

    restored = spread("restore", "home.backup")
    doctor = spread("doctor")

    assert "its cells (eu) were left as they are: `touchbase doctor` says" in restored.stderr
    assert doctor.exit_code == 1
    assert "it has clients that the directory lacks, whose requests are 404: later" in " ".join(doctor.output.split())


def test_copy__says_that_cells_stay_where_they_are(spread: Run) -> None:
    copied = spread("copy", "--from", "sqlite:///touchbase.db", "--to", "sqlite:///new.db")

    assert copied.exit_code == 0, copied.output
    assert "its cells (eu) stay where they are" in copied.stderr
    assert "acme" in spread("clients", "list", "--database", "sqlite:///new.db").output


def test_doctor__looks_at_every_cell(spread: Run) -> None:
    fine = json.loads(spread("doctor", "--json").stdout)["findings"]
    lose("eu.db")
    down = spread("doctor", "--json")

    assert [(each["level"], each["detail"]) for each in fine if each["check"] == "cell eu"] == [
        ("ok", "it answers, and has the clients that the directory names")
    ]
    assert down.exit_code == 1
    assert [each["detail"] for each in json.loads(down.stdout)["findings"] if each["check"] == "cell eu"] == [
        "there is no file eu.db: put it back, from a backup if it is lost"
    ]


def test_doctor__names_what_is_wrong_in_a_cell(spread: Run) -> None:
    with apsw.Connection("eu.db") as connection:
        connection.execute("UPDATE connection SET created_us = 1")

    found = json.loads(spread("doctor", "--json").stdout)["findings"]

    (detail,) = [each["detail"] for each in found if each["check"] == "cell eu"]
    assert detail.startswith("connections: acme hubspot (crm): nothing was ever received")


def test_vacuum__leaves_no_trace_in_any_cell(spread: Run) -> None:
    with apsw.Connection("eu.db") as connection:
        connection.execute("CREATE TABLE gone (word); INSERT INTO gone VALUES ('swordfish-swordfish'); DROP TABLE gone")
    connection.close()
    assert b"swordfish" in Path("eu.db").read_bytes() + (Path("eu.db-wal").read_bytes() if Path("eu.db-wal").exists() else b"")

    done = spread("vacuum")

    assert (done.exit_code, done.output) == (0, "the files of all 2 stores have no trace of deleted rows\n")
    assert b"swordfish" not in b"".join(file.read_bytes() for file in Path().glob("eu.db*"))


def test_vacuum__fails_for_a_cell_that_is_down(spread: Run) -> None:
    lose("eu.db")

    done = spread("vacuum")

    assert done.exit_code == 1
    assert "eu: there is no file eu.db" in done.output


def test_encryption_keys__check_and_rotation_cover_all_cells(spread: Run) -> None:
    keys = [Path(name).read_bytes() for name in ("touchbase.db.key", "eu.db.key")]
    before = json.loads(spread("encryption-keys", "check", "--json").stdout)

    rotated = spread("encryption-keys", "rotate", "--json")

    assert rotated.exit_code == 0, rotated.output
    assert (sum(before["sealed"].values()), json.loads(rotated.stdout)["sealed"]) == (2, 2)  # a cell's address, and a secret in it
    assert all(Path(name).read_bytes() != key for name, key in zip(("touchbase.db.key", "eu.db.key"), keys, strict=True))
    assert spread("encryption-keys", "check").exit_code == 0
    assert spread("connections", "list", "--client", "acme").exit_code == 0


def test_encryption_keys__are_not_rotated_while_a_cell_is_down(spread: Run) -> None:
    key = Path("touchbase.db.key").read_bytes()
    lose("eu.db")

    rotated, checked = spread("encryption-keys", "rotate"), spread("encryption-keys", "check", "--json")

    assert rotated.exit_code == 1
    assert "cell eu cannot be used" in rotated.output
    assert Path("touchbase.db.key").read_bytes() == key
    assert checked.exit_code == 1
    assert list(json.loads(checked.stdout)["not_checked"]) == ["eu"]


def test_encryption_keys_check__names_the_cell_whose_key_is_missing(spread: Run) -> None:
    Path("eu.db.key").write_text(encode_key(new_key()))

    checked = spread("encryption-keys", "check")

    assert checked.exit_code == 1
    assert "cannot be decrypted: cell eu: the secret of hubspot (crm) of client 'acme'" in checked.output


class TestOnPostgresql:
    """The home store and its cell are schemas of one database."""

    @pytest.fixture
    def urls(self, databases: Databases) -> Iterator[list[str]]:
        made = databases.schemas(2)
        yield made
        databases.drop_schemas(made)

    @pytest.fixture
    def spread(self, run: Run, urls: list[str], monkeypatch: pytest.MonkeyPatch) -> Run:
        monkeypatch.setenv("TOUCHBASE_DATABASE", urls[0])
        monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)
        monkeypatch.setenv("PATH", with_postgres_tools()["PATH"])
        Path("people.csv").write_text("email\nada@example.com\n")
        done = [
            run("migrate"),
            run("cells", "add", "eu", "--database", urls[1]),
            run("clients", "add", "acme", "--cell", "eu"),
            run("contacts", "import", "--client", "acme", "people.csv"),
        ]
        assert [each.exit_code for each in done] == [0] * 4, [each.output for each in done]
        return run

    def test_commands__work_over_both(self, spread: Run, urls: list[str]) -> None:
        listed, verified, vacuumed = spread("cells", "list"), spread("verify"), spread("vacuum")

        assert f"search_path={schema_of(urls[1])}" in listed.output
        assert "verified 1 contacts" in verified.output
        assert (vacuumed.exit_code, vacuumed.output) == (0, "the files of all 2 stores have no trace of deleted rows\n")
        assert "cell eu" in spread("doctor").output

    @pytest.mark.own_database
    def test_backup__of_a_cell_in_a_schema_is_restored_in_place(self, spread: Run, urls: list[str], databases: Databases) -> None:
        home, cell = spread("backup", "home.dump"), spread("backup", "--cell", "eu", "eu.dump", "--json")
        assert "its cells (eu) are not in it" in home.stderr
        assert json.loads(cell.stdout)["rows"]["contact"] == 1
        name = schema_of(urls[1])
        address, environment = for_tools(databases.as_superuser(urls[1]))
        owned, _ = for_tools(urls[1])
        subprocess.run(["psql", "--quiet", f"--command=ALTER SCHEMA {name} RENAME TO aside", address], env=environment, check=True)
        assert "cell eu" in spread("clients", "list").output

        restore = ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={owned}", "eu.dump"]
        subprocess.run(restore, env={**environment, "PGPASSWORD": urlsplit(owned).username or ""}, check=True)

        assert "ada@example.com" in spread("contacts", "list", "--client", "acme").output
        assert spread("doctor", "--json").exit_code == 0
