"""`deploy/back-up`, as the container of compose.yaml runs it, against a real PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.conftest import with_postgres_tools

from touchbase.clients.sql.clients import ensure_client
from touchbase.stores import open_store

SCRIPT = Path(__file__).parents[2] / "deploy" / "back-up"
BLIND = """#!/bin/sh
for each; do case $each in --file=*) file=${each#--file=} ;; esac; done
exec "$REAL" --schema-only --format=custom --file="$file"
"""
pytestmark = pytest.mark.parametrize("engine_url", ["postgresql"], indirect=True)


def back_up(url: str, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    address = urlsplit(url)
    host = parse_qs(address.query).get("host", [address.hostname or ""])[0]
    where = {"PGHOST": host, "PGUSER": unquote(address.username or ""), "PGDATABASE": address.path[1:], "PGPORT": str(address.port or 5432)}
    environment = {**with_postgres_tools(), **where, "BACKUPS": str(folder), "TMPDIR": str(folder), **more}
    return subprocess.run([SCRIPT, *(words or ("once",))], env=environment, capture_output=True, text=True, check=False)


def add_client(url: str, name: str) -> None:
    async def add() -> None:
        store = await open_store(url)
        try:
            await store.write(ensure_client(name, 1))
        finally:
            await store.close()

    asyncio.run(add())


def test_back_up__writes_a_dump_that_has_the_clients(engine_url: str, tmp_path: Path) -> None:
    add_client(engine_url, "acme")

    done = back_up(engine_url, tmp_path)

    assert done.returncode == 0, done.stderr
    [dump] = tmp_path.glob("*.dump")
    assert "1 clients" in done.stdout
    listed = ["pg_restore", "--data-only", "--table=client", "--file=-", str(dump)]
    assert "acme" in subprocess.run(listed, env=with_postgres_tools(), capture_output=True, text=True, check=True).stdout


def test_back_up__refuses_a_dump_without_clients_and_leaves_old_ones(engine_url: str, tmp_path: Path) -> None:
    """A `pg_dump` that row-level security shows nothing to, as without the option that the script sets."""
    add_client(engine_url, "acme")
    blind = tmp_path / "bin"
    blind.mkdir()
    (blind / "pg_dump").write_text(BLIND)
    (blind / "pg_dump").chmod(0o755)
    path = with_postgres_tools()["PATH"]
    [real] = [item for item in (Path(folder) / "pg_dump" for folder in path.split(os.pathsep)) if item.exists()][:1]

    done = back_up(engine_url, tmp_path, PATH=f"{blind}{os.pathsep}{path}", REAL=str(real))

    assert done.returncode == 1
    assert "the dump has no client, and the database has 1" in done.stderr
    assert list(tmp_path.glob("*.dump")) == []


def test_back_up__removes_dumps_that_are_too_old(engine_url: str, tmp_path: Path) -> None:
    old, young, second = (tmp_path / name for name in ("touchbase-old.dump", "touchbase-young.dump", "other.dump"))
    for path, days in ((old, 9), (young, 2), (second, 9)):
        path.touch()
        moment = path.stat().st_mtime - days * 86_400
        os.utime(path, (moment, moment))

    assert back_up(engine_url, tmp_path, KEEP_DAYS="7").returncode == 0

    assert (old.exists(), young.exists(), second.exists()) == (False, True, True)


def test_back_up__fails_aloud_without_a_database(engine_url: str, tmp_path: Path) -> None:
    done = back_up(engine_url, tmp_path, PGDATABASE="no_such_database")

    assert done.returncode == 1
    assert "no_such_database" in done.stderr
    assert list(tmp_path.glob("*.dump")) == []


def test_back_up__says_how_it_is_called(engine_url: str, tmp_path: Path) -> None:
    done = back_up(engine_url, tmp_path, "twice")

    assert (done.returncode, done.stderr) == (2, "back-up: say once or daily\n")
