"""A backup taken while writers write is one moment of the store, with everything acknowledged before it began."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.conftest import Databases, names_in, with_postgres_tools
from tests.storage.old_store import KEYS, make_old_sqlite

from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client
from touchbase.consistency.service import Verified, verify
from touchbase.errors import UnusableStore
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.sql.migrations import packaged
from touchbase.sql.store import Store
from touchbase.storage.sqlite import backup
from touchbase.storage.sqlite.backup import back_up, read_backup
from touchbase.storage.sqlite.restore import replace_store, staged_backup
from touchbase.stores import open_store

ENOUGH = 300
"""Writes before the backup begins."""
PATIENCE = 60
BODY = b'{"event_type": "email_sent", "timestamp": "2026-11-20T09:30:00Z", "workspace": "w", "campaign_id": "c", "lead_email": "p%d@example.com", "email_account": "us@example.net", "step": %d}'  # noqa: E501


class Load:
    """Writers that write until they are stopped, and a worker that applies; what was acknowledged is remembered."""

    def __init__(self, store: Store, client: int) -> None:
        self.store, self.client = store, client
        self.acknowledged: list[str] = []
        self.going_on = threading.Semaphore(0)
        self._stop = False
        self.well_under_way = asyncio.Event()

    def stop(self) -> None:
        self._stop = True

    async def run(self) -> None:
        async with asyncio.timeout(PATIENCE * 4), asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(self._write(number))
            group.create_task(self._work())

    async def _write(self, writer: int) -> None:
        n = 0
        while not self._stop:
            email = f"w{writer}n{n}@example.com"
            await self.store.write(create_contact(Creation(Contact(self.client, 0, 5, 5, email, email))))
            key = f"{writer}-{n}".encode().ljust(16, b"-")
            await self.store.write(store_delivery(self.client, "email_campaign", key, b"{}", "", BODY % (n % 50, n), 6))
            self.acknowledged.append(email)
            if len(self.acknowledged) >= ENOUGH:
                self.well_under_way.set()
            self.going_on.release()
            n += 1

    async def _work(self) -> None:
        worker = InboxWorker(self.store, load_adapters().translate, lambda: 10)
        working = asyncio.create_task(worker.run())
        while not self._stop:
            worker.wake_client(self.client)
            await asyncio.sleep(0.01)
        worker.stop()
        await working


async def contents(store: Store, client: int) -> tuple[set[str], int]:
    contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 1_000_000)))
    return {contact.email or "" for contact in contacts}, len(await store.read(list_deliveries(1_000_000, client)))


async def differences(store: Store, client: int) -> list[str]:
    return [str(item) async for item in verify(store, client, Verified())]


Taken = Callable[[Load], str]


async def test_backup__under_load_is_a_consistent_snapshot_with_all_earlier_writes(
    engine_url: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_PER_STEP", 5)
    store = await open_store(engine_url)
    client = (await store.write(ensure_client("acme", 1))).number
    load = Load(store, client)
    running = asyncio.create_task(load.run())
    async with asyncio.timeout(PATIENCE):
        await load.well_under_way.wait()
    before = set(load.acknowledged)
    take = _sqlite_copy if engine_url.startswith("sqlite") else _postgres_dump

    try:
        restored_url = await asyncio.to_thread(take, engine_url, tmp_path, load, request)
        while_it_was_taken = len(load.acknowledged) - len(before)
    finally:
        load.stop()
        await running
    await store.close()
    restored = await open_store(restored_url)
    content, deliveries = await contents(restored, client)
    result = await differences(restored, client)
    await restored.close()

    assert result == []
    assert before <= content
    assert len(before) <= deliveries <= len(load.acknowledged)
    assert while_it_was_taken > 0


def _sqlite_copy(url: str, folder: Path, load: Load, request: pytest.FixtureRequest) -> str:
    steps: list[int] = []

    def after_more_writes(done: int, total: int) -> None:
        steps.append(done)
        if len(steps) < 50:  # every step finds the store changed since the one before
            while load.going_on.acquire(blocking=False):
                pass
            assert load.going_on.acquire(timeout=PATIENCE)

    back_up(Path(url.removeprefix("sqlite:///")), folder / "backup.db", "1", 5, after_more_writes)
    assert steps == sorted(steps), "the copy began anew"
    assert len(steps) > 10
    with staged_backup(folder / "backup.db", folder / "restored.db") as part:
        replace_store(part, folder / "restored.db", folder / "aside.db")
    return f"sqlite:///{folder}/restored.db"


def _postgres_dump(url: str, folder: Path, load: Load, request: pytest.FixtureRequest) -> str:
    databases: Databases = request.getfixturevalue("databases")
    restored = databases.empty()
    request.addfinalizer(lambda: databases.drop(restored))
    # As docs/how-to/back-up.md says, with all clients in scope: row-level security would let the tables' owner dump nothing.
    environment = {**with_postgres_tools(), "PGOPTIONS": "-c touchbase.clients=all"}
    for command in (
        ["pg_dump", "--enable-row-security", "--format=custom", f"--file={folder}/dump", url],
        ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={restored}", f"{folder}/dump"],
    ):
        subprocess.run(command, env=environment, check=True, timeout=PATIENCE)
    return restored


async def test_backup__leaves_the_previous_backup_unchanged_when_interrupted(sqlite_url: str, tmp_path: Path) -> None:
    await (await open_store(sqlite_url)).close()
    source, target = tmp_path / "touchbase.db", tmp_path / "b" / "backup.db"
    (tmp_path / "b").mkdir()
    back_up(source, target, "1", 5, lambda done, total: None)
    before = target.read_bytes()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(source, target, "2", 6, interrupt)

    assert names_in(target.parent) == ["backup.db", "backup.db.sha256"]
    assert target.read_bytes() == before
    assert (read_backup(target).made_us, read_backup(target).program, read_backup(target).checked) == (5, "1", True)


async def test_backup__leaves_a_complete_file_when_two_write_to_it_at_once(sqlite_url: str, tmp_path: Path) -> None:
    await (await open_store(sqlite_url)).close()
    source, target = Path(sqlite_url.removeprefix("sqlite:///")), tmp_path / "backup.db"
    meanwhile = [lambda: back_up(source, target, "2", 6, lambda done, total: None)]

    back_up(source, target, "1", 5, lambda done, total: meanwhile.pop()() if meanwhile else None)

    assert (read_backup(target).made_us, read_backup(target).checked) == (5, True)
    assert names_in(tmp_path) == ["backup.db", "backup.db.sha256", "touchbase.db"]


async def test_restore__preserves_its_staged_file_while_another_restore_runs(sqlite_url: str, tmp_path: Path) -> None:
    await (await open_store(sqlite_url)).close()
    source, target = Path(sqlite_url.removeprefix("sqlite:///")), tmp_path / "target.db"
    back_up(source, tmp_path / "backup.db", "1", 5, lambda done, total: None)

    with staged_backup(tmp_path / "backup.db", target) as part:
        with staged_backup(tmp_path / "backup.db", target):
            pass
        replace_store(part, target, tmp_path / "aside.db")

    assert _schema(target) == _schema(source)


async def test_restore__changes_nothing_when_interrupted_or_refused(sqlite_url: str, tmp_path: Path) -> None:
    await (await open_store(sqlite_url)).close()
    source, target = tmp_path / "touchbase.db", tmp_path / "backup.db"
    back_up(source, target, "1", 5, lambda done, total: None)
    before = source.read_bytes()

    with pytest.raises(KeyboardInterrupt), staged_backup(target, source):
        raise KeyboardInterrupt
    with pytest.raises(UnusableStore, match="exists already"), staged_backup(target, source) as part:
        replace_store(part, source, target)

    assert source.read_bytes() == before
    assert names_in(tmp_path) == ["backup.db", "backup.db.sha256", "touchbase.db"]


async def test_restore__migrates_a_backup_of_an_earlier_version(sqlite_url: str, tmp_path: Path) -> None:
    await (await open_store(sqlite_url)).close()
    make_old_sqlite(tmp_path / "early.db")
    back_up(tmp_path / "early.db", tmp_path / "b.db", "1", 5, lambda done, total: None)

    with staged_backup(tmp_path / "b.db", tmp_path / "new.db") as part:
        restored = await open_store(f"sqlite:///{part}", encryption_keys=KEYS)
        await restored.close()
        was_there = replace_store(part, tmp_path / "new.db", tmp_path / "aside.db")

    assert not was_there
    assert (read_backup(tmp_path / "b.db").schema, read_backup(tmp_path / "new.db").schema) == (
        "0018_moves",
        packaged("sqlite")[-1].name,
    )
    assert _schema(tmp_path / "new.db") == _schema(tmp_path / "touchbase.db")


def _schema(path: Path) -> list[str]:
    with apsw.Connection(str(path)) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]
