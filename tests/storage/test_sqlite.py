"""SQLite: a full disk, a killed process, addresses and versions."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.operations import handler

from touchbase.clients.sql.clients import ensure_client, find_client, list_clients
from touchbase.erasure.sql.erasures import erase_person
from touchbase.errors import BadAddress, StoreUnavailable, UnusableStore
from touchbase.projection.known_events import FACT_BY_TIME
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.sql.dialect import for_sqlite
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command
from touchbase.sql.statement import Plan, Select
from touchbase.sql.store import Store, Vacuumed
from touchbase.storage.sqlite import engine, writer
from touchbase.storage.sqlite.connection import path_of, refuse_old_sqlite
from touchbase.stores import open_store


class Pages(Command[None]):
    """Sets how many pages the file may have: a small disk, or a larger one."""

    most: int


class Fill(Command[None]):
    """Stores a large client."""

    client_id: str
    size: int = 500_000


def _pages(commands: Sequence[Pages], ids: Ids) -> Plan[list[object]]:
    for command in commands:
        yield Select(f"PRAGMA max_page_count = {command.most}", ())
    return [None] * len(commands)


def _fill(commands: Sequence[Fill], ids: Ids) -> Plan[list[object]]:
    for command in commands:
        sql = "INSERT INTO client (id, client_id, created_us, settings) VALUES ((SELECT 1 + count(*) FROM client), ?, 0, ?)"
        yield Select(sql, (command.client_id, "{}" + " " * command.size))
    return [None] * len(commands)


SMALL_DISK = {Pages: handler(_pages), Fill: handler(_fill)}


async def test_full_disk__makes_the_store_unavailable_until_there_is_space(sqlite_url, open_with) -> None:
    store = await open_with(sqlite_url, SMALL_DISK)
    await store.write(Pages(300))

    answers = await asyncio.gather(*(store.write(Fill(f"client{n}")) for n in range(8)), return_exceptions=True)
    refused = [answer for answer in answers if answer is not None]
    stored = len(await store.read(list_clients()))
    await store.write(Pages(100_000))
    await asyncio.gather(*(store.write(Fill(f"later{n}")) for n in range(8)))

    assert refused
    assert {type(answer) for answer in refused} == {StoreUnavailable}
    assert "full" in str(refused[0])
    assert stored == len(answers) - len(refused)
    assert len(await store.read(list_clients())) == stored + 8


class FailingDisk(apsw.VFS):
    """Every disk of this process, as one that gives an error on each write while `failing` is set."""

    failing: type[apsw.Error] | None = None
    unreadable: type[apsw.Error] | None = None

    def __init__(self) -> None:
        self.real = apsw.vfs_names()[0]
        super().__init__("failing-disk", self.real, makedefault=True)

    def xOpen(self, name, flags):
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name, flags) -> None:
        super().__init__(disk.real, name, flags)
        self._disk = disk

    def xRead(self, amount, offset):
        if self._disk.unreadable:
            raise self._disk.unreadable
        return super().xRead(amount, offset)

    def xWrite(self, data, offset) -> None:
        if self._disk.failing:
            raise self._disk.failing
        super().xWrite(data, offset)


@pytest.fixture
def failing_disk() -> Iterator[FailingDisk]:
    disk = FailingDisk()
    yield disk
    disk.unregister()


@pytest.mark.parametrize("failure", [apsw.FullError, apsw.IOError])
async def test_failing_disk__makes_the_store_unavailable_until_it_works(sqlite_url, failing_disk, failure) -> None:
    store = await open_store(sqlite_url)
    failing_disk.failing = failure

    with pytest.raises(StoreUnavailable, match="disk"):
        await store.check()
    refused = await asyncio.gather(*(store.write(ensure_client(f"refused{n}", 1)) for n in range(5)), return_exceptions=True)
    failing_disk.failing = None
    await store.check()
    await store.write(ensure_client("later", 2))
    clients = await store.read(list_clients())
    await store.close()

    assert [type(answer) for answer in refused] == [StoreUnavailable] * 5
    assert [client.client_id for client in clients] == ["later"]


async def test_unreadable_disk__makes_reads_unavailable_until_it_works(sqlite_url, failing_disk) -> None:
    store = await open_store(sqlite_url)
    client = (await store.write(ensure_client("acme", 1))).number
    await store.close()
    store = await open_store(sqlite_url)

    failing_disk.unreadable = apsw.IOError
    with pytest.raises(StoreUnavailable, match="cannot use the store now"):
        await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))
    failing_disk.unreadable = None

    assert await store.read(list_records(Listing(CONTACT_TYPE, client, 5))) == []
    await store.close()


async def test_write_ahead_log__is_checkpointed_while_writes_continue(sqlite_url, open_with, monkeypatch) -> None:
    monkeypatch.setattr(writer, "MAX_LOG_PAGES", 4_000)
    pages: list[int] = []
    commit = writer.WriteAheadLog._committed
    monkeypatch.setattr(writer.WriteAheadLog, "_committed", lambda log, *of: pages.append(of[2]) or commit(log, *of))
    store = await open_with(sqlite_url, SMALL_DISK)

    for n in range(600):  # how soon the thread that copies gets its turn is up to the machine
        await store.write(Fill(f"client{n}"))
        assert await store.read(find_client(f"client{n}")) is not None
        if n > 20 and any(later < earlier for earlier, later in pairwise(pages)):
            break

    assert any(later < earlier for earlier, later in pairwise(pages)), "the log never began again"
    assert os.stat(str(path_of(sqlite_url))).st_size > 5_000_000


async def test_failed_checkpoint__is_logged_and_leaves_the_store_usable(sqlite_url, open_with, monkeypatch, caplog) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no such descriptor")

    monkeypatch.setattr(writer, "PAGES_BETWEEN_CHECKPOINTS", 50)
    monkeypatch.setattr(writer.WriteAheadLog, "flush_copied", fails)
    store = await open_with(sqlite_url, SMALL_DISK)

    for n in range(5):
        await store.write(Fill(f"client{n}"))
    await asyncio.wait_for(store.close(), 60)

    assert "a checkpoint failed" in caplog.text


WRITES_UNTIL_KILLED = """
import asyncio, sys
from touchbase.clients.sql.clients import ensure_client
from touchbase.stores import open_store

async def main():
    store = await open_store(sys.argv[1])
    n = 0
    while True:
        names = [f"client{n + k}" for k in range(7)]
        await asyncio.gather(*(store.write(ensure_client(name, 1)) for name in names))
        print("\\n".join(names), flush=True)
        n += 7

asyncio.run(main())
"""


def test_killed_process__loses_no_acknowledged_write(engine_url) -> None:
    process = subprocess.Popen([sys.executable, "-c", WRITES_UNTIL_KILLED, engine_url], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(200)]
    process.send_signal(signal.SIGKILL)
    acknowledged += process.stdout.read().split()[:-1]  # the last line may be torn
    process.stdout.close()
    process.wait()

    stored = asyncio.run(_clients_of(engine_url))

    assert set(acknowledged) <= stored


async def _clients_of(url: str) -> set[str]:
    store = await open_store(url)
    await store.write(ensure_client("after", 2))
    client_ids = {client.client_id for client in await store.read(list_clients())}
    await store.close()
    return client_ids


async def test_in_memory_stores__are_separate() -> None:
    first_store, other_store = await open_store("sqlite://"), await open_store("sqlite:///:memory:")
    await first_store.write(ensure_client("acme", 1))

    observed = [await store.read(find_client("acme")) is not None for store in (first_store, other_store)]
    await first_store.close()
    await other_store.close()

    assert observed == [True, False]


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:///a.db", "a.db"), ("sqlite:////srv/a b.db", "/srv/a b.db"), ("sqlite://", None), ("sqlite:///:memory:", None)],
)
def test_path_of__returns_the_file_of_a_url(url: str, path: str | None) -> None:
    assert path_of(url) == path


@pytest.mark.parametrize("url", ["sqlite:a.db", "sqlite://a.db", "sqlite:/a.db"])
def test_path_of__explains_a_url_with_too_few_slashes(url: str) -> None:
    with pytest.raises(UnusableStore, match=r"sqlite:///touchbase\.db"):
        path_of(url)


def test_path_of__refuses_a_url_with_parameters() -> None:
    with pytest.raises(BadAddress, match=r"'sqlite:///a\.db' takes no parameters"):
        path_of("sqlite:///a.db?mode=ro")


async def test_open_store__explains_a_missing_folder(tmp_path) -> None:
    with pytest.raises(UnusableStore, match="check that the folder is there"):
        await open_store(f"sqlite:///{tmp_path}/nowhere/touchbase.db")


async def test_open_store__explains_a_file_that_is_not_a_database(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary, " * 1000)

    with pytest.raises(UnusableStore, match="not a SQLite database"):
        await open_store(f"sqlite:///{tmp_path}/notes.txt")


def test_refuse_old_sqlite__refuses_versions_that_can_corrupt_the_file() -> None:
    refuse_old_sqlite("3.51.3")
    refuse_old_sqlite("3.54.1")

    with pytest.raises(UnusableStore, match=r"3\.40\.1 is too old"):
        refuse_old_sqlite("3.40.1")


async def test_open_store__names_the_engines_for_an_unknown_one() -> None:
    with pytest.raises(UnusableStore, match="no storage engine is called 'mysql'; there are postgresql, sqlite"):
        await open_store("mysql://localhost/touchbase")


@pytest.mark.parametrize("address", ["host=db user=t password=swordfish", "swordfish", "t:swordfish@db/touchbase", "sword fish://x"])
async def test_open_store__refuses_a_url_in_another_form_without_repeating_it(address: str) -> None:
    with pytest.raises(UnusableStore, match="write sqlite:///touchbase") as refused:
        await open_store(address)

    assert "sword" not in str(refused.value)


def modes_of(path: Path) -> dict[str, int]:
    """Who may do what with a store's files."""
    return {item.name: stat.S_IMODE(item.stat().st_mode) for item in path.parent.glob(f"{path.name}*")}


async def test_open_store__makes_a_new_file_private_and_leaves_the_mode_of_an_existing_one(tmp_path: Path) -> None:
    opened = tmp_path / "opened.db"
    opened.touch(mode=0o640)
    opened.chmod(0o640)
    for path in (tmp_path / "new.db", opened):
        store = await open_store(f"sqlite:///{path}")
        await store.write(ensure_client("acme", 1))
        modes = modes_of(path)
        await store.close()

        assert set(modes.values()) == {0o600 if path.name == "new.db" else 0o640}
        assert {path.name, f"{path.name}-wal"} <= modes.keys()


async def _with_erased(url: str, open_with: Any) -> Store:
    """A store of people of all sizes, of whom a fifth were erased; rows were moved from page to page meanwhile."""
    store: Store = await open_with(url, {})
    clients = [(await store.write(ensure_client(name, 1))).number for name in ("one", "two", "three")]
    sizes, marked = random.Random(7), list[tuple[int, int]]()
    for _ in range(900):
        name, client = sizes.choice(["Goldfinch", *["Sparrow"] * 4]), sizes.choice(clients)
        contact = Contact(client, 0, 1, 1, first_name=name, last_name="x" * sizes.randint(1, 600))
        record = (await store.write(create_contact(Creation(contact, [("note", f"{name} " * sizes.randint(1, 60))])))).record
        if name == "Goldfinch":
            marked.append((client, record.id))
    for client, number in marked:
        await store.write(erase_person(client, 2, number, search=False))
    return store


def _traces(path: Path) -> list[str]:
    return [file.name for file in sorted(path.parent.glob(f"{path.name}*")) if b"Goldfinch" in file.read_bytes()]


async def test_vacuum__removes_traces_of_erased_rows_and_leaves_the_others(tmp_path: Path, open_with: Any) -> None:
    path = tmp_path / "traces.db"
    store = await _with_erased(f"sqlite:///{path}", open_with)

    assert await store.vacuum()
    assert _traces(path) == []
    assert [len(await store.read(list_records(Listing(CONTACT_TYPE, client, 200)))) for client in (1, 2, 3)] == [200, 200, 200]


async def test_vacuum__rewrites_a_large_file_only_on_request(tmp_path: Path, open_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_ROUTINE_VACUUM_BYTES", 1)
    path = tmp_path / "traces.db"
    store = await _with_erased(f"sqlite:///{path}", open_with)

    assert await store.vacuum() is Vacuumed.TOO_LARGE
    assert _traces(path) == ["traces.db"]
    assert await store.vacuum(full=True)
    assert _traces(path) == []


async def test_vacuum__can_be_repeated_after_another_process_blocked_it(
    tmp_path: Path, open_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BUSY_MS", 50)
    path = tmp_path / "traces.db"
    store = await _with_erased(f"sqlite:///{path}", open_with)

    with apsw.Connection(str(path)) as other_connection:
        other_connection.execute("CREATE TABLE in_the_way (one)")
        assert not await store.vacuum()
        with pytest.raises(StoreUnavailable, match="another process has locked the store"):
            await store.vacuum(full=True)
    assert await store.vacuum()
    assert _traces(path) == []


async def _some(store: Store, count: int) -> list[Contact]:
    contacts = (create_contact(Creation(Contact(1, 0, 1, 1, first_name=f"{n}"), [("seats", f"{n}")])) for n in range(count))
    return sorted([(await store.write(item)).record for item in contacts], key=lambda contact: contact.id)


async def test_slow_list__returns_its_whole_page(sqlite_url: str, open_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_with(sqlite_url, {})
    people = await _some(store, 60)

    monkeypatch.setattr(engine, "QUICK_SECONDS", -1.0)  # every page

    assert await store.read(list_records(Listing(CONTACT_TYPE, 1, 60))) == people
    monkeypatch.undo()
    assert await store.read(list_records(Listing(CONTACT_TYPE, 1, 60))) == people


async def test_interrupted_lists__leave_no_open_transaction(sqlite_url: str, open_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_with(sqlite_url, {})
    client = await store.write(ensure_client("someone", 1))
    people = await _some(store, 60)
    monkeypatch.setattr(engine, "QUICK_SECONDS", -1.0)

    for _ in range(
        3 * engine.STEPS_PER_CHECK
    ):  # SQLite counts its steps over all runs of a statement: one of these is cut short where it would end
        assert await store.read(list_records(Listing(CONTACT_TYPE, client.number, 60))) == people


async def test_event_loop__runs_between_two_lists(sqlite_url: str, open_with: Any) -> None:
    store = await open_with(sqlite_url, {})
    people = await _some(store, 3)
    pages = [asyncio.create_task(store.read(list_records(Listing(CONTACT_TYPE, 1, 10)))) for _ in range(20)]

    done = [0]
    while done[-1] < len(pages):
        await asyncio.sleep(0)
        done.append(sum(page.done() for page in pages))

    assert max(after - before for before, after in pairwise(done)) == 1
    assert [page.result() for page in pages] == [people] * len(pages)


async def test_new_store__finds_events_by_index_before_it_is_opened_again(tmp_path, monkeypatch) -> None:
    connections: list[apsw.Connection] = []
    opened = engine.open_upgraded
    monkeypatch.setattr(engine, "open_upgraded", lambda *of, **more: (result := opened(*of, **more), connections.append(result[0]))[0])
    store = await open_store(f"sqlite:///{tmp_path}/new.db")

    [writing] = connections
    question = for_sqlite(FACT_BY_TIME.columns, FACT_BY_TIME.body, 1)
    plan = [row[3] for row in writing.execute("EXPLAIN QUERY PLAN " + question, (1, "key", 1))]
    await store.close()

    assert plan[-1] == "SEARCH t USING INDEX event_key (client=? AND key=? AND occurred_us=?)"
