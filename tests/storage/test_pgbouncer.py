"""A real PgBouncer before a real PostgreSQL: session mode works with its defaults, the other modes are refused with the reason."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import UnusableStore
from touchbase.inbox.sql.commands import store_delivery
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.storage.postgres import engine as pooler
from touchbase.stores import open_store

PGBOUNCER = shutil.which("pgbouncer") or ("/usr/sbin/pgbouncer" if os.path.exists("/usr/sbin/pgbouncer") else None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(PGBOUNCER is None, reason="there is no PgBouncer on this machine")]
Pooled = Callable[[str], Awaitable[str]]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def search_for_poolers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for a pooler, as a server does; the other tests do not (`tests/conftest.py`)."""
    monkeypatch.setattr(pooler, "POOLER_ROUNDS", 3)


@pytest.fixture
async def pooled(postgres_url: str) -> AsyncIterator[Pooled]:
    """The address of the test's database through a PgBouncer in this mode, with its defaults otherwise."""
    parts = urlsplit(postgres_url)
    processes: list[asyncio.subprocess.Process] = []
    folder = Path(tempfile.mkdtemp(prefix="touchbase-pgbouncer-"))
    os.chmod(folder, 0o755)

    async def start(mode: str) -> str:
        port = free_port()
        users = folder / "users.txt"
        users.write_text(f'"{parts.username}" "{parts.password}"\n')
        server = parts.hostname or dict(word.split("=") for word in parts.query.split("&")).get("host", "")
        config = folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = host={server} port={parts.port or 5432}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = plain\nauth_file = {users}\npool_mode = {mode}\n"
        )
        owner = pwd.getpwuid(os.stat(server).st_uid).pw_name if server.startswith("/") else "nobody"
        user = ["-u", owner] if os.getuid() == 0 else []  # it refuses to run as root, and only the owner may reach the socket
        assert PGBOUNCER is not None
        processes.append(
            await asyncio.create_subprocess_exec(PGBOUNCER, *user, str(config), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        )
        stderr = processes[-1].stderr
        assert stderr is not None
        async for line in stderr:
            if b"process up" in line:
                break
        return urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}", query=""))

    yield start
    for process in processes:
        process.kill()
        await process.wait()
    shutil.rmtree(folder)


async def test_session_mode__works(pooled: Pooled) -> None:
    store = await open_store(await pooled("session"))
    try:
        client = (await store.write(ensure_client("acme", 1))).number
        await asyncio.gather(*(store.write(create_contact(Creation(Contact(client, 0, at, at)))) for at in range(1, 60)))
        await store.write(store_delivery(client, "crm", b"k" * 16, b"{}", "", b"{}", 5))
        assert len(await store.read(list_records(Listing(CONTACT_TYPE, client, 100)))) == 59
    finally:
        await store.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_other_modes__are_refused_at_start_with_the_reason(pooled: Pooled, mode: str) -> None:
    with pytest.raises(UnusableStore, match="pool_mode = session"):
        await open_store(await pooled(mode))
