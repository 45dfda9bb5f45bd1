"""Shared by commands: the open store, files, and errors with the next step."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import click

from touchbase.cli.options import read_settings
from touchbase.clients.models import DELETING
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound

if TYPE_CHECKING:
    from touchbase.clients.models import Client
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.routing.router import CellRouter

T = TypeVar("T")


def now_us() -> Micros:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    import asyncio

    return asyncio.run(work)


def run_fast(work: Coroutine[Any, Any, T]) -> T:
    """Run a long-running coroutine on uvloop, or on asyncio's own loop where uvloop is not installed."""
    try:
        import uvloop
    except ImportError:
        return run(work)
    return uvloop.run(work)


@asynccontextmanager
async def opened(database: str | None, *, as_is: bool = False, new: bool = False, copies: bool | None = None) -> AsyncIterator[CellRouter]:
    """Open the store and its cells, and close them at the end. With `as_is` its cells are not opened.

    Fail if a SQLite file does not exist, unless it may be `new`, and if migrations are pending, unless `as_is`.
    """
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.objects.bodies import BodyLoader
    from touchbase.objects.bucket import bucket_of
    from touchbase.routing.router import CellRouter
    from touchbase.stores import open_store

    settings = read_settings(database=database, migration_copy=copies)
    if not new:
        must_exist(settings.database)
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    bucket = bucket_of(settings.objects, now_us)
    load = BodyLoader(bucket)
    home = await open_store(
        settings.database, as_is=as_is, encryption_keys=keys, upgrade=False, copies=settings.migration_copy, load_bodies=load
    )
    store = CellRouter(home, partial(open_store, encryption_keys=keys, upgrade=False, load_bodies=load), bucket)
    try:
        if not as_is:
            await store.start(follow=False)
        yield store
    finally:
        await store.close()


def must_exist(url: str) -> None:
    """Fail if a SQLite address names a file that does not exist: opening it would create an empty store."""
    if is_missing(url):
        raise click.ClickException(f"there is no store at {url}: name it with --database, or make it with `touchbase serve` or `migrate`")


def is_missing(url: str) -> bool:
    """Return whether a SQLite address names a file that does not exist."""
    path = url.removeprefix("sqlite:///")
    return url.startswith("sqlite:///") and bool(path) and not path.startswith(":") and not Path(path).exists()


def without_password(url: str) -> str:
    """Return a database address without its password and options, for output."""
    try:
        parts = urlsplit(url)
        # An invalid port is a piece of a password with a / or # in it, and so is an @ behind the host.
        password, _ = parts.password, [urlsplit(f"//{host}").port for host in parts.netloc.rpartition("@")[2].split(",")]
        # Without a host it is in another form, such as libpq's `host=... password=...`.
        misplaced = not url.startswith("sqlite") and (not parts.netloc or bool({"@", ":"} & {*parts.path, *parts.fragment}))
    except ValueError:
        misplaced = True
    if misplaced:
        return "(not a URL)"
    if password is None:
        return urlunsplit(parts._replace(query="")) if parts.netloc else url.partition("?")[0]
    user = parts.username or ""
    hosts = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:***@{hosts}", query=""))


@contextmanager
def explain_not_found(next_step: str) -> Iterator[None]:
    """Turn `NotFound` into an error message that ends with the next step."""
    try:
        yield
    except NotFound as error:
        raise click.ClickException(f"{error.detail}: {next_step}") from error


async def find_client(store: ProcessingStore, client_id: str, *, lasting: bool = False) -> Client:
    """Return the client with this id or with this former id that is still accepted; fail if there is none.

    With `lasting`, also fail for a client that is being deleted, because its data will be deleted.
    """
    from touchbase.clients.sql import clients as clients_sql

    client = await store.read(clients_sql.find_client(client_id, now_us()))
    if client is None:
        raise click.ClickException(f"there is no client {client_id!r}: `touchbase clients list` shows all")
    if lasting and client.state == DELETING:
        raise click.ClickException(f"client {client_id!r} is being deleted and cannot be changed any more")
    return client


def read_file(file: Path) -> bytes:
    """Return the bytes of a file; of standard input for `-`."""
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from error


def read_text(file: Path) -> str:
    """Return the text in a file, or in standard input for `-`, without white space around it."""
    try:
        return read_file(file).decode().strip()
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is no text file in UTF-8") from error
