"""`touchbase backup` and `touchbase restore`, as an operator uses them."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Run
from tests.cli.test_commands import keep
from tests.storage.database_search import find_in_database
from tests.storage.old_store import KEY, make_old_sqlite

from touchbase.sql.migrations import packaged

SECRET = "a-secret-of-ours"


@pytest.fixture
def backed_up(store: Run) -> Run:
    """A store with the client acme, and a backup of it; the client later came after that."""
    store("clients", "add", "acme")
    store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", SECRET)
    assert store("backup", "b.db").exit_code == 0
    store("clients", "add", "later")
    return store


def clients(run: Run) -> list[str]:
    return [line.split()[0] for line in run("clients", "list").output.splitlines()[1:]]


def test_restore__brings_back_a_backup_and_sets_the_old_store_aside(backed_up: Run) -> None:
    restored = backed_up("restore", "b.db")

    (aside,) = Path.cwd().glob("touchbase.db.before-*")
    assert restored.exit_code == 0, restored.output
    assert aside.name in restored.output
    assert clients(backed_up) == ["acme"]
    key = {"TOUCHBASE_ENCRYPTION_KEY_FILE": "touchbase.db.key"}
    assert "later" in backed_up("clients", "list", "--database", f"sqlite:///{aside.name}", env=key).output
    assert backed_up("encryption-keys", "check").exit_code == 0
    assert backed_up("verify").exit_code == 0


def test_backup__writes_one_private_file_without_the_encryption_key(backed_up: Run) -> None:
    created = backed_up("backup", "c.db")

    assert "schema 00" in created.output
    assert "touchbase.db.key" in created.output
    assert stat.S_IMODE(Path("c.db").stat().st_mode) == 0o600
    assert sorted(path.name for path in Path.cwd().glob("c.db*")) == ["c.db", "c.db.sha256"]
    assert Path("touchbase.db.key").read_text().strip().encode() not in Path("c.db").read_bytes()
    assert SECRET.encode() not in Path("c.db").read_bytes()


def test_backup__replaces_an_existing_file_only_with_force(backed_up: Run) -> None:
    before = Path("b.db").read_bytes()

    refused = backed_up("backup", "b.db")
    after = Path("b.db").read_bytes()
    forced = backed_up("backup", "--force", "b.db")

    assert (refused.exit_code, forced.exit_code, before == after) == (1, 0, True)
    assert "--force" in refused.output
    backed_up("restore", "b.db")
    assert clients(backed_up) == ["acme", "later"]


@pytest.mark.parametrize("name", ["touchbase.db-wal", "touchbase.db-shm", "touchbase.db-journal", "touchbase.db.key"])
def test_backup__never_overwrites_the_stores_own_files(backed_up: Run, name: str) -> None:
    key = Path("touchbase.db.key").read_bytes()

    refused = backed_up("backup", "--force", name)

    assert refused.exit_code == 1
    assert "belongs to the store itself" in refused.output
    assert (Path("touchbase.db.key").read_bytes(), Path("touchbase.db-wal").exists()) == (key, False)


@pytest.mark.parametrize("command", [("verify",), ("migrate",), ("clients", "list"), ("serve", "--port", "0")])
def test_backup_file__is_rejected_as_a_store(backed_up: Run, command: tuple[str, ...]) -> None:
    before = Path("b.db").read_bytes()

    refused = backed_up(*command, "--database", "sqlite:///b.db")

    assert refused.exit_code == 1
    assert "touchbase restore --database sqlite:///COPY b.db" in refused.output
    assert Path("b.db").read_bytes() == before
    assert backed_up("restore", "b.db").exit_code == 0


def test_restore__into_another_file_allows_inspection(backed_up: Run) -> None:
    laid_out = backed_up("restore", "--database", "sqlite:///look.db", "b.db", env={"TOUCHBASE_ENCRYPTION_KEY_FILE": "touchbase.db.key"})

    assert laid_out.exit_code == 0, laid_out.output


def test_backup_file__put_in_the_stores_place_is_a_store(backed_up: Run) -> None:
    Path("b.db").rename("touchbase.db")

    assert clients(backed_up) == ["acme"]


@pytest.mark.parametrize("command", [("backup", "--force"), ("restore",)])
def test_backup_and_restore__reject_the_store_itself(backed_up: Run, command: tuple[str, ...]) -> None:
    refused = backed_up(*command, "./touchbase.db")

    assert refused.exit_code == 1
    assert "is the store itself" in refused.output
    assert clients(backed_up) == ["acme", "later"]


def test_backup__leaves_no_file_when_it_fails(backed_up: Run) -> None:
    nowhere, none = backed_up("backup", "nowhere/b.db"), backed_up("backup", "x.db", "--database", "sqlite:///none.db")
    Path("notes.txt").write_text("no store " * 1000)
    notes = backed_up("backup", "x.db", "--database", "sqlite:///notes.txt")

    assert [first.exit_code for first in (nowhere, none, notes)] == [1, 1, 1]
    assert "No such file or directory" in nowhere.output
    assert "there is no store" in none.output
    assert "not a SQLite database" in notes.output
    assert not list(Path.cwd().glob("x.db*"))


def test_restore__rejects_a_changed_backup(backed_up: Run) -> None:
    content = bytearray(Path("b.db").read_bytes())
    content[len(content) // 2] ^= 1
    Path("b.db").write_bytes(content)

    refused = backed_up("restore", "b.db")

    assert refused.exit_code == 1
    assert "has changed since it was written" in refused.output
    assert clients(backed_up) == ["acme", "later"]
    assert not [*Path.cwd().glob("*.part*"), *Path.cwd().glob("*.before-*")]


def test_restore__rejects_a_damaged_backup_without_a_checksum(backed_up: Run) -> None:
    Path("b.db.sha256").unlink()
    with Path("b.db").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 6))

    refused = backed_up("restore", "b.db")

    assert refused.exit_code == 1
    assert "damaged" in refused.output or "malformed" in refused.output
    assert clients(backed_up) == ["acme", "later"]


def test_restore__rejects_one_damaged_page_in_one_line(backed_up: Run) -> None:
    Path("b.db.sha256").unlink()
    connection = apsw.Connection("b.db")
    (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'connection'").fetchall()[0]
    size = connection.pragma("page_size")
    connection.close()
    with Path("b.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    refused = backed_up("restore", "b.db")

    assert (refused.exit_code, refused.output.count("\n")) == (1, 1), refused.output
    assert "b.db is damaged" in refused.output
    assert clients(backed_up) == ["acme", "later"]


@pytest.mark.parametrize("content", [b"", b"not a database, and long enough to be asked for its header" * 100])
def test_restore__rejects_a_file_that_is_no_backup(backed_up: Run, content: bytes) -> None:
    Path("x.db").write_bytes(content)

    refused, missing = backed_up("restore", "x.db"), backed_up("restore", "missing.db")

    assert (refused.exit_code, missing.exit_code) == (1, 1)
    assert "is not a backup of a store" in refused.output
    assert "there is no backup missing.db" in missing.output
    assert clients(backed_up) == ["acme", "later"]


def test_restore__rejects_a_backup_of_a_newer_version(backed_up: Run) -> None:
    Path("b.db.sha256").unlink()
    connection = apsw.Connection("b.db")
    connection.execute("INSERT INTO migration VALUES ('9999_future', 'digest')")
    connection.close()

    refused = backed_up("restore", "b.db")

    assert refused.exit_code == 1
    assert "newer than this program: it has 9999_future" in refused.output
    assert clients(backed_up) == ["acme", "later"]


def test_restore__rejects_a_store_in_use(backed_up: Run) -> None:
    server = apsw.Connection("touchbase.db")
    server.execute("SELECT * FROM client").fetchall()

    refused = backed_up("restore", "b.db")
    server.close()

    assert refused.exit_code == 1
    assert "stop it, then restore again" in refused.output
    assert clients(backed_up) == ["acme", "later"]
    assert backed_up("restore", "b.db").exit_code == 0


def test_restore__requires_the_encryption_key(backed_up: Run) -> None:
    Path("touchbase.db.key").unlink()

    refused = backed_up("restore", "b.db")

    assert refused.exit_code == 1
    assert "encrypted with the key" in refused.output
    assert not [*Path.cwd().glob("*.part*"), *Path.cwd().glob("*.before-*")]


def test_restore__of_a_lost_store_ignores_its_leftover_wal(backed_up: Run) -> None:
    lost = apsw.Connection("touchbase.db")
    lost.execute("UPDATE client SET client_id = 'left-over' WHERE client_id = 'acme'")
    log = Path("touchbase.db-wal").read_bytes()
    lost.close()
    Path("touchbase.db").unlink()
    Path("touchbase.db-wal").write_bytes(log)

    restored = backed_up("restore", "b.db")

    assert restored.exit_code == 0, restored.output
    assert clients(backed_up) == ["acme"]
    assert backed_up("verify").exit_code == 0


def test_restore__over_an_unreadable_store_needs_without_erasures(backed_up: Run) -> None:
    Path("touchbase.db").write_bytes(b"nothing that SQLite reads" * 1000)

    refused = backed_up("restore", "b.db")
    restored = backed_up("restore", "b.db", "--without-erasures")

    assert (refused.exit_code, restored.exit_code) == (1, 0), restored.output
    assert "--erasures sqlite:///FILE" in refused.output
    assert clients(backed_up) == ["acme"]
    (aside,) = Path.cwd().glob("touchbase.db.before-*")
    assert aside.read_bytes().startswith(b"nothing that SQLite reads")


def test_restore__of_a_copy_reports_the_missing_checksum(backed_up: Run) -> None:
    Path("b.db").rename("copy.db")

    restored = backed_up("restore", "copy.db")

    assert restored.exit_code == 0
    assert "there was no copy.db.sha256" in restored.output


def test_restore__on_postgresql_names_the_tool_to_run(run: Run) -> None:
    refused = run("restore", "b.db", "--database", "postgresql://someone:hidden@db/touchbase")

    assert refused.exit_code == 1
    assert "pg_restore" in refused.output
    assert "docs/how-to/back-up.md" in refused.output
    assert "hidden" not in refused.output


def test_restore__erases_persons_erased_since_the_backup(store: Run) -> None:
    who = ("--client", "acme", "--email", "goldfinch@example.com")
    body = b'{"event_type": "email_sent", "lead_email": "goldfinch@example.com", "timestamp": "2026-11-20T09:30:00Z"}'
    keep(body)
    store("worker", "--once")
    store("backup", "b.db")
    store("persons", "erase", *who, "--yes")

    restored = store("restore", "b.db")

    assert "1 identities were erased after the backup was taken" in restored.output
    assert asyncio.run(find_in_database("sqlite:///touchbase.db", "goldfinch")) == []
    assert asyncio.run(find_in_database("sqlite:///b.db", "goldfinch")) != []
    assert store("verify").exit_code == 0


BODY = b'{"event_type": "email_sent", "lead_email": "goldfinch@example.com", "timestamp": "2026-11-20T09:30:00Z"}'
WHO = ("--client", "acme", "--email", "goldfinch@example.com")


@pytest.fixture
def erased(store: Run) -> Run:
    """A store where somebody was erased after the backup was taken."""
    keep(BODY)
    store("worker", "--once")
    store("backup", "b.db")
    store("persons", "erase", *WHO, "--yes")
    return store


def is_back(run: Run) -> bool:
    return run("persons", "export", *WHO).exit_code == 0


@pytest.mark.parametrize(("address", "says"), [("sqlite:///typo.db", "there is no store at"), ("sqlite:///empty.db", "is no store")])
def test_restore__rejects_erasures_from_a_file_that_is_no_store(erased: Run, address: str, says: str) -> None:
    Path("empty.db").touch()

    refused = erased("restore", "--erasures", address, "b.db")

    assert (refused.exit_code, Path("typo.db").exists()) == (1, False)
    assert says in refused.output
    assert not is_back(erased)


def test_restore__applies_erasures_of_another_store_and_leaves_it_unchanged(erased: Run) -> None:
    Path("touchbase.db").rename("lost.db")
    connection = apsw.Connection("lost.db")
    connection.execute("INSERT INTO migration VALUES ('0099_future', 'digest')")
    connection.close()
    before = Path("lost.db").read_bytes()

    restored = erased("restore", "--erasures", "sqlite:///lost.db", "b.db")

    assert "1 identities were erased after" in restored.output
    assert not is_back(erased)
    assert Path("lost.db").read_bytes() == before


def test_restore__applies_erasures_of_a_later_backup_and_leaves_it_restorable(erased: Run) -> None:
    erased("backup", "later.db")
    Path("touchbase.db").rename("broken.db")
    before = Path("later.db").read_bytes()

    restored = erased("restore", "--erasures", "sqlite:///later.db", "b.db")

    assert restored.exit_code == 0, restored.output
    assert "1 identities were erased after" in restored.output
    assert not is_back(erased)
    assert Path("later.db").read_bytes() == before
    assert sorted(path.name for path in Path.cwd().glob("later.db*")) == ["later.db", "later.db.sha256"]


def test_restore__after_an_upgrade_applies_erasures(erased: Run) -> None:
    connection = apsw.Connection("touchbase.db")
    connection.execute("INSERT INTO migration VALUES ('0099_future', 'digest')")
    connection.close()

    restored = erased("restore", "b.db")

    assert restored.exit_code == 0, restored.output
    assert "1 identities were erased after" in restored.output
    assert not is_back(erased)


def test_restore__over_an_unknown_schema_needs_without_erasures(erased: Run) -> None:
    connection = apsw.Connection("touchbase.db")
    connection.execute("ALTER TABLE erased RENAME TO gone_people; INSERT INTO migration VALUES ('0099_future', 'digest')")
    connection.close()

    refused = erased("restore", "b.db")
    restored = erased("restore", "--without-erasures", "b.db")

    assert (refused.exit_code, restored.exit_code) == (1, 0), restored.output
    assert "--without-erasures" in refused.output
    assert is_back(erased)


def test_restore__without_erasures_brings_erased_persons_back(erased: Run) -> None:
    restored = erased("restore", "--without-erasures", "b.db")

    assert restored.exit_code == 0
    assert is_back(erased)


def test_restore__applies_erasures_of_a_store_whose_encryption_key_is_lost(store: Run) -> None:
    keep(BODY)
    store("worker", "--once")
    store("backup", "b.db")  # nothing is sealed in it
    store("persons", "erase", *WHO, "--yes")
    store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", SECRET)
    Path("touchbase.db.key").unlink()

    restored = store("restore", "b.db")

    assert restored.exit_code == 0, restored.output
    assert not is_back(store)


@pytest.mark.parametrize("replaced", ["old", "new"])
def test_restore__upgrades_an_old_backup_and_erases_again_whom_the_store_has_erased(run: Run, replaced: str) -> None:
    make_old_sqlite(Path("touchbase.db"))
    make_old_sqlite(Path("before.db"))
    connection = apsw.Connection("before.db")
    connection.execute(
        "DELETE FROM erased; DELETE FROM erasure; UPDATE contact SET email = ?1, email_key = ?1 WHERE id = 3", ("zed@example.org",)
    )
    connection.close()
    run("backup", "b.db", "--database", "sqlite:///before.db")
    key = {"TOUCHBASE_ENCRYPTION_KEY": KEY}
    if replaced == "new":
        assert run("migrate", env=key).exit_code == 0

    restored = run("restore", "b.db", env=key)

    assert restored.exit_code == 0, restored.output
    assert "1 identities were erased after" in restored.output
    connection = apsw.Connection("touchbase.db")
    emails = [email for (email,) in connection.execute("SELECT email FROM contact ORDER BY id")]
    assert emails == ["Ann@example.com", "bob@example.com", "dee@example.org", "fay@example.org", "solo@beta.example"]
    assert connection.execute("SELECT max(name) FROM migration").fetchall() == [(packaged("sqlite")[-1].name,)]
    connection.close()
