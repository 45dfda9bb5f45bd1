"""`touchbase persons reapply-erasures`: a copy from before an erasure is told of it, on both engines."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.conftest import Databases, with_postgres_tools

from touchbase.clients.sql.clients import ensure_client
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.stores import open_store

WHO = ("--client", "acme", "--email", "goldfinch@example.com")
Copy = Callable[[Run, str], str]


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Copy:
    """A copy of the store at an address; its own address."""

    def copied(run: Run, url: str) -> str:
        if url.startswith("sqlite:"):
            assert run("backup", "--database", url, "b.db").exit_code == 0
            assert run("restore", "--database", f"sqlite:///{tmp_path}/copy.db", "b.db").exit_code == 0
            return f"sqlite:///{tmp_path}/copy.db"
        databases: Databases = request.getfixturevalue("databases")
        restored = databases.empty()
        request.addfinalizer(lambda: databases.drop(restored))
        environment = {**with_postgres_tools(), "PGOPTIONS": "-c touchbase.clients=all"}
        for command in (
            ["pg_dump", "--enable-row-security", "--format=custom", f"--file={tmp_path}/dump", url],
            ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={restored}", f"{tmp_path}/dump"],
        ):
            subprocess.run(command, env=environment, check=True, timeout=60)
        return restored

    return copied


async def _fill(url: str) -> None:
    store = await open_store(url)
    client = (await store.write(ensure_client("acme", 1))).number
    for email in ("goldfinch@example.com", "wren@example.com"):
        await store.write(create_contact(Creation(Contact(client, 0, 1, 1, email, email))))
    await store.close()


def test_reapply_erasures__erases_only_persons_erased_in_the_other_store(run: Run, engine_url: str, copy: Copy) -> None:
    asyncio.run(_fill(engine_url))
    restored = copy(run, engine_url)
    assert run("persons", "erase", "--database", engine_url, *WHO, "--yes").exit_code == 0
    assert run("persons", "export", "--database", restored, *WHO).exit_code == 0

    said = run("persons", "reapply-erasures", "--database", restored, "--from", engine_url)
    again = run("persons", "reapply-erasures", "--database", restored, "--from", engine_url)

    assert (said.exit_code, said.output) == (0, "1 identities were new in this store: they are erased now\n")
    assert (again.exit_code, again.output) == (0, "no new erasures: this store has all of them\n")
    assert run("persons", "export", "--database", restored, *WHO).exit_code == 1
    assert run("persons", "export", "--database", restored, "--client", "acme", "--email", "wren@example.com").exit_code == 0


def test_reapply_erasures__rejects_a_missing_store_and_creates_none(run: Run, engine_url: str) -> None:
    refused = run("persons", "reapply-erasures", "--database", engine_url, "--from", "sqlite:///typo.db")
    misnamed = run("persons", "reapply-erasures", "--database", engine_url, "--from", "mysql://db/x")

    assert refused.exit_code == 1
    assert "typo.db" in refused.output
    assert misnamed.exit_code == 2
    assert "no storage engine is called 'mysql'" in misnamed.output
    assert not Path("typo.db").exists()
