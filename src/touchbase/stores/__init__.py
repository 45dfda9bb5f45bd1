"""Stores: a storage engine with all capabilities, opened or copied by its address."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from touchbase.common.cipher import Cipher
from touchbase.deliveries.work import ProcessingStore
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.keys import NO_KEYS, EncryptionKeys
from touchbase.errors import BadAddress
from touchbase.history.events import COMPANY, CONTACT
from touchbase.sql.store import LoadBodies, no_object_storage
from touchbase.storage import QUEUE_LIMIT, check_address, keys_of, refuse_missing, scheme_of
from touchbase.storage.sqlite.connection import path_of
from touchbase.storage.sqlite.process_lock import Role
from touchbase.storage.sqlite.store_copy import SqliteClientRows, SqliteCopyTarget, SqliteReader
from touchbase.storage.store_copy import ClientRows, CopiedTable, CopyRules, Report, StoreCopy
from touchbase.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from touchbase.storage.postgres.store_copy import PostgresCopyTarget, PostgresReader

COPY_RULES = CopyRules(
    not_copied=lambda table: table.startswith("search_"),  # the target indexes all of its records
    first=frozenset({"company"}),
    replaced=frozenset({"id_block", "server_secret"}),
    at_the_end=(
        f"INSERT INTO search_pending (client, record_kind, record_id) SELECT client, {CONTACT}, id FROM contact",
        f"INSERT INTO search_pending (client, record_kind, record_id) SELECT client, {COMPANY}, id FROM company",
    ),
)


async def open_store(
    url: str,
    *,
    queue_limit: int = QUEUE_LIMIT,
    as_is: bool = False,
    encryption_keys: EncryptionKeys = NO_KEYS,
    roles: Sequence[Role] = (),
    upgrade: bool = True,
    copies: bool = True,
    read_url: str = "",
    load_bodies: LoadBodies = no_object_storage,
) -> ProcessingStore:
    """Open the store at this address: `sqlite:///file.db`, `sqlite://` (private) or `postgresql://…`.

    The schema is brought up to date where that is safe: on SQLite, and in an empty PostgreSQL database. Another
    PostgreSQL database with pending migrations is refused. With `as_is` the schema is not changed, so that the caller
    can run `migrate`. Without `upgrade` a store with pending migrations is refused, because a server of an older version
    may use it, and a SQLite file that does not exist is not made. With `copies` a SQLite store is copied to a file in the
    same folder before its schema changes.

    `encryption_keys` decrypt the secrets in the store; a store whose encryption key is missing is refused, unless `as_is`.
    `read_url` is the address of a standby that answers queries which may take long; the primary answers while it cannot.
    `roles` are the roles of this process; the store's `warnings` name the roles that another process has on the same file.
    `load_bodies` reads bodies of webhooks that are in object storage.
    Raises `UnusableStore`, which says what to change, and `BadAddress`, which says what to write as the address.
    """
    check_address(url)
    if not (upgrade or as_is):
        refuse_missing(url)
    cipher = AesGcmCipher(keys_of(url, encryption_keys))
    if scheme_of(url) == "sqlite":
        sqlite = await SqliteStore.open(
            url, queue_limit=queue_limit, as_is=as_is, cipher=cipher, roles=roles, upgrade=upgrade, copies=copies
        )
        sqlite.load_bodies = load_bodies
        return sqlite
    from touchbase.storage.postgres.standby import Standby
    from touchbase.stores.postgres import PostgresStore

    store = await PostgresStore.open(url, queue_limit=queue_limit, as_is=as_is, cipher=cipher, upgrade=upgrade)
    store.standby = Standby(read_url, cipher) if read_url else None
    store.load_bodies = load_bodies
    return store


async def copy_store(source_url: str, target_url: str, encryption_keys: EncryptionKeys, report: Report) -> list[CopiedTable]:
    """Copy the store at one address into an empty one, or finish such a copy; return the tables, compared.

    No server may use either. Raises `UnusableStore`, which says what to change, and `BadAddress`.
    """
    for url in (source_url, target_url):
        check_address(url)
        if scheme_of(url) == "sqlite" and path_of(url) is None:
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
        return await StoreCopy(source, source_cipher, target, target_cipher, _name(source_url), COPY_RULES, report).run()


async def open_client_rows(url: str) -> ClientRows:
    """Open the store at this address to move clients from or to it, beside the servers that use it."""
    if scheme_of(url) == "sqlite":
        return SqliteClientRows(path_of(url) or "")
    from touchbase.storage.postgres.store_copy import PostgresClientRows

    return await PostgresClientRows.open(url)


async def _reader(url: str) -> SqliteReader | PostgresReader:
    if scheme_of(url) == "sqlite":
        return SqliteReader(path_of(url) or "")
    from touchbase.storage.postgres.store_copy import PostgresReader

    return await PostgresReader.open(url)


async def _writer(url: str, cipher: Cipher) -> SqliteCopyTarget | PostgresCopyTarget:
    if scheme_of(url) == "sqlite":
        return SqliteCopyTarget(path_of(url) or "", cipher)
    from touchbase.storage.postgres.store_copy import PostgresCopyTarget

    return await PostgresCopyTarget.open_with(url, cipher)


def _name(url: str) -> str:
    """Return an address without user, password and options; a SQLite file's with its whole path."""
    if scheme_of(url) == "sqlite":
        return f"sqlite:///{Path(path_of(url) or '').resolve()}"
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
