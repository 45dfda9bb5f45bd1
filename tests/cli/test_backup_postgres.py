"""`touchbase backup` of a PostgreSQL store: a dump that is complete, or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Run
from tests.conftest import Databases, with_postgres_tools

from touchbase.storage.postgres.backup import for_tools

BLIND = """#!/bin/sh
unset PGOPTIONS
exec {real} "$@"
"""
"""A `pg_dump` to which row-level security shows nothing."""
SPY = """#!/bin/sh
echo "$@" > {seen}
exec {real} "$@"
"""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of PostgreSQL's own tools, which are found from now on."""
    path = with_postgres_tools()["PATH"]
    monkeypatch.setenv("PATH", path)
    return Path(path.split(os.pathsep)[0])


@pytest.fixture
def filled(run: Run, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A PostgreSQL store with the client acme and the contact ada."""
    monkeypatch.setenv("TOUCHBASE_DATABASE", postgres_url)
    assert run("clients", "add", "acme").exit_code == 0
    Path("people.csv").write_text("email\nada@example.com\n")
    assert run("contacts", "import", "--client", "acme", "people.csv").exit_code == 0
    return run


def put_first(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Let this program be found as `pg_dump`."""
    folder.mkdir()
    (folder / "pg_dump").write_text(text)
    (folder / "pg_dump").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_backup__dumps_a_postgresql_store_that_can_be_restored(filled: Run, tools: Path, databases: Databases) -> None:
    created = filled("backup", "a.dump", "--json")

    restored = databases.empty()
    try:
        subprocess.run([tools / "pg_restore", "--exit-on-error", "--no-owner", f"--dbname={restored}", "a.dump"], check=True)
        listed = filled("contacts", "list", "--client", "acme", "--database", restored)
    finally:
        databases.drop(restored)
    assert created.exit_code == 0, created.output
    rows = json.loads(created.output)["rows"]
    assert (rows["client"], rows["contact"], rows["event"]) == (1, 1, 1)
    assert "ada@example.com" in listed.output


def test_backup__refuses_a_dump_without_rows_and_leaves_no_file(
    filled: Run, tools: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_first(monkeypatch, tmp_path / "blind", BLIND.format(real=tools / "pg_dump"))

    refused = filled("backup", "a.dump")

    assert refused.exit_code == 1
    assert "no rows of" in refused.output
    assert "contact" in refused.output
    assert list(Path.cwd().glob("a.dump*")) == []


def test_backup__shows_no_password_in_the_list_of_processes(
    filled: Run, tools: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_first(monkeypatch, tmp_path / "spy", SPY.format(real=tools / "pg_dump", seen=tmp_path / "seen"))
    separator = "&" if urlsplit(postgres_url).query else "?"

    created = filled("backup", "a.dump", "--database", f"{postgres_url}{separator}password=goldfinch")

    assert created.exit_code == 0, created.output
    assert "goldfinch" not in (tmp_path / "seen").read_text()


def test_backup__says_what_to_install_without_postgresql_tools(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))

    refused = filled("backup", "a.dump")

    assert refused.exit_code == 1
    assert "postgresql-client" in refused.output


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8).map(lambda text: f"pw{text}"))
def test_for_tools__never_leaves_any_password_in_the_address(password: str) -> None:
    address, environment = for_tools(f"postgresql://touchbase:{password}@db.example:5433/main?sslmode=require&search_path=ours")

    assert address == "postgresql://touchbase@db.example:5433/main?sslmode=require"
    assert environment["PGPASSWORD"] == password
    assert "-c search_path=ours" in environment["PGOPTIONS"]
    assert "-c touchbase.clients=all" in environment["PGOPTIONS"]
