"""The commands of docs/how-to/back-up.md do what the page says: they are read from it and run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from tests.cli.test_serve import Serve, serve
from tests.conftest import Databases, with_postgres_tools

from touchbase.clients.sql.clients import ensure_client
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.stores import open_store

pytestmark = pytest.mark.slow

__all__ = ["serve"]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "back-up.md"


def commands(section: str) -> list[str]:
    """The shell commands of one section of the page, block by block."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(block: str, folder: Path, **environment: str) -> str:
    """What a block of commands prints; every one of them must succeed."""
    surroundings = {name: value for name, value in with_postgres_tools().items() if not name.startswith("TOUCHBASE_")}
    path = f"{Path(sys.executable).parent}:{surroundings['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=folder, env={**surroundings, "PATH": path, **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_backup_page__commands_work_on_sqlite(serve: Serve, tmp_path: Path) -> None:
    back_up, go_back, look_into = commands("SQLite")
    server = serve()
    server.post("/public/v2/contacts", {"email": "before@example.com"})

    reported = run(back_up, tmp_path)
    server.post("/public/v2/contacts", {"email": "after@example.com"})
    run(look_into, tmp_path)
    server.stop()
    reported += run(go_back, tmp_path)
    again = serve()
    with urllib.request.urlopen(f"http://127.0.0.1:{again.port}/public/v2/contacts", timeout=60) as answer:
        document = answer.read().decode()

    assert "nightly.db: OK" in reported
    assert "verified 1 contacts, 0 companies, 1 events: no differences" in reported
    assert ("before@example.com" in document, "after@example.com" in document) == (True, False)


@pytest.fixture
def restored_url(postgres_url: str, databases: Databases) -> Iterator[str]:
    """The address of the database that the page makes."""
    url = urlunsplit(urlsplit(postgres_url)._replace(path="/touchbase_restored"))
    yield url
    databases.drop(url)


async def test_backup_page__commands_work_on_postgresql(postgres_url: str, restored_url: str, tmp_path: Path) -> None:
    back_up, go_back, erase_again = commands("PostgreSQL")
    store = await open_store(postgres_url)
    client = (await store.write(ensure_client("acme", 1))).number
    for name in ("one@example.com", "another@example.com"):
        await store.write(create_contact(Creation(Contact(client, 0, 5, 5, name, name))))

    reported = run(back_up, tmp_path, TOUCHBASE_DATABASE=postgres_url)
    await store.write(ensure_client("later", 1))
    reported += run(go_back, tmp_path, TOUCHBASE_DATABASE=postgres_url, RESTORED=restored_url)
    await store.close()
    run("touchbase persons erase --client acme --email one@example.com --yes", tmp_path, TOUCHBASE_DATABASE=postgres_url)
    reported += run(erase_again, tmp_path, TOUCHBASE_DATABASE=postgres_url, RESTORED=restored_url)

    assert "1 identities were new in this store" in reported
    assert "verified 2 contacts, 0 companies, 2 events: no differences" in reported
