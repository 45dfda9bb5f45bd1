"""Going back to a moment on PostgreSQL, as docs/how-to/back-up.md says: a base, and the log archived since."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.server_process import free_port
from fault_tests.cluster import SYSTEM_USER, Cluster

from touchbase.clients.sql.clients import ensure_client
from touchbase.consistency.service import Verified, verify
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.stores import open_store

pytestmark = pytest.mark.slow


class Archiving(Cluster):
    """A server whose log is archived, and the one that is made from a base and that archive."""

    def begin_archiving(self, archive: Path) -> None:
        archive.mkdir()
        if os.geteuid() == 0:
            shutil.chown(archive, SYSTEM_USER)
        self.execute("ALTER SYSTEM SET archive_mode = on")
        self.execute(f"ALTER SYSTEM SET archive_command = 'test ! -f {archive}/%f && cp %p {archive}/%f'")
        self.stop_at_once()
        self.start()

    def base_of(self, running: Cluster) -> None:
        self._own_folder()
        self._run("pg_basebackup", "-d", running.address, "-D", self._data, "-X", "stream", "-c", "fast")

    def recover(self, archive: Path, moment: str) -> None:
        with Path(self._data, "postgresql.auto.conf").open("a") as settings:
            settings.write(f"archive_mode = off\nrestore_command = 'cp {archive}/%f %p'\n")
            settings.write(f"recovery_target_time = '{moment}'\nrecovery_target_action = promote\n")
        Path(self._data, "recovery.signal").touch()
        self.start()
        self.wait_for("SELECT pg_is_in_recovery()", False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not in pytest's own: where we are root, the server's user may not go there."""
    path = Path(f"/tmp/touchbase-pitr-{os.getpid()}")
    path.mkdir(mode=0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def present(folder: Path) -> Iterator[Archiving]:
    server = Archiving(folder / "present", free_port())
    server.create()
    yield server
    server.remove()


@pytest.fixture
def restored(folder: Path) -> Iterator[Archiving]:
    server = Archiving(folder / "restored", free_port())
    yield server
    server.remove()


async def _write(url: str, *emails: str) -> None:
    store = await open_store(url)
    client = (await store.write(ensure_client("acme", 1))).number
    for email in emails:
        await store.write(create_contact(Creation(Contact(client, 0, 1, 1, email, email))))
    await store.close()


def test_point_in_time_recovery__restores_every_acknowledged_write_up_to_the_time(
    folder: Path, present: Archiving, restored: Archiving
) -> None:
    archive = folder / "archive"
    present.begin_archiving(archive)
    url = present.new_database()
    asyncio.run(_write(url, "before@example.com"))
    restored.base_of(present)
    asyncio.run(_write(url, "after@example.com"))
    moment = str(present.execute("SELECT clock_timestamp()"))
    asyncio.run(_write(url, "mistake@example.com"))
    last = present.execute("SELECT pg_walfile_name(pg_switch_wal())")
    present.wait_for(f"SELECT last_archived_wal >= '{last}' FROM pg_stat_archiver", True)
    present.remove()

    restored.recover(archive, moment)

    content, differences = asyncio.run(_contents(url.replace(f":{present.port}/", f":{restored.port}/")))
    assert content == {"before@example.com", "after@example.com"}
    assert differences == []


async def _contents(url: str) -> tuple[set[str | None], list[str]]:
    store = await open_store(url)
    client = (await store.write(ensure_client("acme", 1))).number
    emails = {contact.email for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 100)))}
    differences = [str(item) async for item in verify(store, client, Verified())]
    await store.close()
    return emails, differences
