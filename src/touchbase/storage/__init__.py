"""Storage engines, chosen by the scheme of an address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from touchbase.common.cipher import Cipher
from touchbase.deliveries.work import ProcessingStore
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.key_file import KeyFile
from touchbase.encryption.keys import NO_KEYS, EncryptionKeys, KeySource, StaticKeys, new_key
from touchbase.errors import BadAddress, UnusableStore
from touchbase.storage.postgres.engine import PostgresStore
from touchbase.storage.postgres.store_copy import PostgresReader, PostgresWriter
from touchbase.storage.sqlite.connection import path_of
from touchbase.storage.sqlite.engine import SqliteStore
from touchbase.storage.sqlite.process_lock import Role
from touchbase.storage.sqlite.store_copy import SqliteReader, SqliteWriter
from touchbase.storage.store_copy import CopiedTable, Report, StoreCopy

ENGINES = ("postgresql", "sqlite")
QUEUE_LIMIT = 4_096
_POSTGRES = ("postgresql", "postgres")
_WRITE = "write sqlite:///touchbase.db or postgresql://USER:PASSWORD@HOST/NAME"


async def open_store(
    url: str,
    *,
    queue_limit: int = QUEUE_LIMIT,
    as_is: bool = False,
    encryption_keys: EncryptionKeys = NO_KEYS,
    roles: Sequence[Role] = (),
    upgrade: bool = True,
    copies: bool = True,
) -> ProcessingStore:
    """Open the store at this address: `sqlite:///file.db`, `sqlite://` (private) or `postgresql://…`.

    The schema is brought up to date where that is safe: on SQLite, and in an empty PostgreSQL database. Another
    PostgreSQL database with pending migrations is refused. With `as_is` the schema is not changed, so that the caller
    can run `migrate`. Without `upgrade` a store with pending migrations is refused, because a server of an older version
    may use it, and a SQLite file that does not exist is not made. With `copies` a SQLite store is copied to a file in the
    same folder before its schema changes.

    `encryption_keys` decrypt the secrets in the store; a store whose encryption key is missing is refused, unless `as_is`.
    `roles` are the roles of this process; the store's `warnings` name the roles that another process has on the same file.
    Raises `UnusableStore`, which says what to change, and `BadAddress`, which says what to write as the address.
    """
    check_address(url)
    if not (upgrade or as_is):
        refuse_missing(url)
    cipher = AesGcmCipher(keys_of(url, encryption_keys))
    if _scheme(url) == "sqlite":
        return await SqliteStore.open(url, queue_limit=queue_limit, as_is=as_is, cipher=cipher, roles=roles, upgrade=upgrade, copies=copies)
    return await PostgresStore.open(url, queue_limit=queue_limit, as_is=as_is, cipher=cipher, upgrade=upgrade)


async def copy_store(source_url: str, target_url: str, encryption_keys: EncryptionKeys, report: Report) -> list[CopiedTable]:
    """Copy the store at one address into an empty one, or finish such a copy; return the tables, compared.

    No server may use either. Raises `UnusableStore`, which says what to change, and `BadAddress`.
    """
    for url in (source_url, target_url):
        check_address(url)
        if _scheme(url) == "sqlite" and path_of(url) is None:
            raise BadAddress("a store in memory ends with its process: name a file")
    if source_url == target_url:
        raise BadAddress("the source and the target are the same store: name another target")
    await (await open_store(source_url, encryption_keys=encryption_keys, upgrade=False)).close()
    target_cipher = AesGcmCipher(keys_of(target_url, encryption_keys))
    async with AsyncExitStack() as opened:
        source = await _reader(source_url)
        opened.push_async_callback(source.close)
        target = await _writer(target_url, target_cipher)
        if await target.progress() is None:
            await target.close()
            await (await open_store(target_url, encryption_keys=encryption_keys)).close()
            target = await _writer(target_url, target_cipher)
        opened.push_async_callback(target.close)
        source_cipher = AesGcmCipher(keys_of(source_url, encryption_keys))
        return await StoreCopy(source, source_cipher, target, target_cipher, _name(source_url), report).run()


async def _reader(url: str) -> SqliteReader | PostgresReader:
    return SqliteReader(path_of(url) or "") if _scheme(url) == "sqlite" else await PostgresReader.open(url)


async def _writer(url: str, cipher: Cipher) -> SqliteWriter | PostgresWriter:
    return SqliteWriter(path_of(url) or "", cipher) if _scheme(url) == "sqlite" else await PostgresWriter.open_with(url, cipher)


def _name(url: str) -> str:
    """Return an address without user, password and options; a SQLite file's with its whole path."""
    if _scheme(url) == "sqlite":
        return f"sqlite:///{Path(path_of(url) or '').resolve()}"
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_address(url: str) -> None:
    """Raise `BadAddress` for a text that cannot be the address of a store. It does not check that the store exists."""
    scheme = _scheme(url)
    if scheme == "sqlite":
        path_of(url)
    elif scheme not in _POSTGRES or "://" not in url:
        raise BadAddress(_no_engine(url))


def part_of_database(url: str) -> str | None:
    """Return what an address names that is less than a PostgreSQL database, so no cell can live there; None for a database.

    Raises `BadAddress`.
    """
    check_address(url)
    if _scheme(url) == "sqlite":
        return "a SQLite file"
    return "a schema in a database" if "search_path" in dict(parse_qsl(urlsplit(url).query)) else None


def refuse_missing(url: str) -> None:
    """Raise `UnusableStore` for a SQLite file that does not exist: opening it would make an empty store in its place."""
    path = path_of(url) if _scheme(url) == "sqlite" else None
    if path is not None and not Path(path).exists():
        raise UnusableStore(f"there is no file {path}: put it back, from a backup if it is lost")


def keys_of(url: str, encryption_keys: EncryptionKeys) -> KeySource:
    """Return the keys of the store at this address: those given, and for a SQLite file those of its key file."""
    given = encryption_keys.read()
    if _scheme(url) != "sqlite":
        return StaticKeys(given)
    file = encryption_keys.file or key_file_of(url)
    return KeyFile(file, given) if file else StaticKeys(given or [new_key()])


def key_file_of(url: str) -> Path | None:
    """Return the path of a SQLite store's key file, whether it exists or not; None for a private store."""
    path = path_of(url)
    return Path(f"{path}.key") if path else None


def _no_engine(url: str) -> str:
    """Return the message for an unknown address. It quotes the scheme only, because another part may contain a password."""
    scheme = _scheme(url)
    if "://" in url and re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        return f"no storage engine is called '{scheme}'; there are {', '.join(ENGINES)}: {_WRITE}"
    return f"it is not an address: {_WRITE}"


def _scheme(url: str) -> str:
    return url.partition(":")[0].casefold()
