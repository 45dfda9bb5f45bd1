"""Dump a PostgreSQL store with PostgreSQL's own tools, and refuse a dump that lacks the rows of a table.

Row-level security also applies to `pg_dump`: one that sees no client writes a dump without rows and reports success. So the
dump is read again before it gets its name.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import asyncpg

from touchbase.common.atomic_file import part_of
from touchbase.common.threads import on_thread
from touchbase.errors import UnusableStore
from touchbase.sql.dialect import CLIENTS_SETTING
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.storage.postgres.connection import UNUSABLE, connect
from touchbase.storage.postgres.row_level_security import Connection, begin
from touchbase.storage.postgres.schema import applied

TOOLS = ("pg_dump", "pg_restore")
_TABLES = """SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p')
ORDER BY relname"""
_COPY = re.compile(rb'COPY (?:"?[^ ."]+"?\.)?"?([a-z_]+)"? \(.*\) FROM stdin;\n')
_LIBPQ = {
    "sslmode",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "sslcrl",
    "host",
    "port",
    "user",
    "passfile",
    "connect_timeout",
    "target_session_attrs",
}
"""The parameters of an address that PostgreSQL's tools and the driver read alike; others are settings of a session."""


@dataclass(frozen=True, slots=True)
class Dump:
    """Content of a dump."""

    rows: Mapping[str, int]
    """The number of rows of each table that has any."""
    schema: str
    """The last migration that ran in it."""
    bytes: int


async def dump(url: str, target: Path) -> Dump:
    """Dump the store at this address to `target`, replacing an existing file; a failed dump leaves no file.

    Raises `UnusableStore` when PostgreSQL's tools are missing or fail, and when the dump has no rows of a table that has some.
    """
    _refuse_without_tools()
    with part_of(target) as part:
        before, schema = await _filled(url)
        address, environment = for_tools(url)
        command = ["pg_dump", "--enable-row-security", "--format=custom", f"--file={part}", *_only(url), f"--dbname={address}"]
        await on_thread("backup", _run, command, environment)
        rows = await on_thread("backup", _rows_in, part, environment)
        after, _ = await _filled(url)
        if lacking := sorted((before & after) - rows.keys()):
            raise UnusableStore(
                f"the dump has no rows of {', '.join(lacking)}, and the store has some: row-level security hides them from this role; "
                "dump as a superuser or as a role with BYPASSRLS (docs/how-to/back-up.md)"
            )
        with part.open("rb") as file:
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        os.replace(part, target)
        return Dump(rows, schema, size)


def for_tools(url: str) -> tuple[str, dict[str, str]]:
    """Return an address for PostgreSQL's tools, without its password, which would show in the list of processes; and their environment."""
    parts = urlsplit(url)
    user, password = parts.username or "", parts.password
    host = parts.netloc.rpartition("@")[2]
    pairs = parse_qsl(parts.query)
    settings = {name: value for name, value in pairs if name not in _LIBPQ and name != "password"}
    password = next((value for name, value in pairs if name == "password"), password and unquote(password))
    options = " ".join(
        f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in {**settings, CLIENTS_SETTING: ALL_CLIENTS}.items()
    )
    address = urlunsplit(
        ("postgresql", f"{user}@{host}" if user else host, parts.path, urlencode([option for option in pairs if option[0] in _LIBPQ]), "")
    )
    environment = {**os.environ, "PGOPTIONS": options, **({"PGPASSWORD": password} if password else {})}
    return address.replace("postgresql:/", "postgresql:///", 1) if not (user or host) else address, environment


def _only(url: str) -> list[str]:
    """Return the option that limits the dump to the schema that the address names."""
    path = dict(parse_qsl(urlsplit(url).query)).get("search_path")
    return [f'--schema="{path}"'] if path else []


def _refuse_without_tools() -> None:
    if missing := [tool for tool in TOOLS if which(tool) is None]:
        raise UnusableStore(
            f"{' and '.join(missing)} of PostgreSQL cannot be found: install PostgreSQL's client programs (Debian: postgresql-client), "
            "of a version not older than the server"
        )


async def _filled(url: str) -> tuple[set[str], str]:
    """Return the store's tables that have rows, and the last migration that ran."""
    try:
        connection = await connect(url)
        try:
            await connection.execute(begin(ALL_CLIENTS, "READ ONLY"))
            names = [str(row["relname"]) for row in await connection.fetch(_TABLES)]
            return {name for name in names if await _has_rows(connection, name)}, max(await applied(connection), default="")
        finally:
            await connection.close()
    except (ValueError, asyncpg.PostgresError, *UNUSABLE) as error:
        raise UnusableStore(f"cannot read this PostgreSQL: {error or type(error).__name__}; check the address, and that it runs") from error


async def _has_rows(connection: Connection, table: str) -> bool:
    return bool(await connection.fetchval(f'SELECT EXISTS (SELECT 1 FROM "{table}")'))


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if done.returncode:
        raise UnusableStore(f"{command[0]} failed: {done.stderr.strip() or f'exit status {done.returncode}'}")


def _rows_in(file: Path, environment: Mapping[str, str]) -> dict[str, int]:
    """Return the number of rows of each table in a dump, by reading all of it."""
    rows: dict[str, int] = {}
    table = ""
    command = ["pg_restore", "--data-only", "--file=-", str(file)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as reading:  # noqa: S603
        assert reading.stdout is not None
        for line in reading.stdout:
            if not table:
                begun = _COPY.fullmatch(line)
                table = begun[1].decode() if begun else ""
            elif line == b"\\.\n":
                table = ""
            else:
                rows[table] = rows.get(table, 0) + 1
    if reading.returncode:
        raise UnusableStore(f"pg_restore cannot read the dump: exit status {reading.returncode}")
    return rows
