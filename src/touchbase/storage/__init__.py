"""Storage: the engines that keep records, chosen by the scheme of an address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.key_file import KeyFile
from touchbase.encryption.keys import NO_KEYS, EncryptionKeys, GivenKeys, Keys, new_key
from touchbase.errors import BadAddress
from touchbase.events.work import ProcessingStore
from touchbase.storage.postgres.engine import PostgresStore
from touchbase.storage.sqlite.connection import path_of
from touchbase.storage.sqlite.engine import SqliteStore
from touchbase.storage.sqlite.process_lock import Role

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
    parts: Sequence[Role] = (),
    upgrade: bool = True,
    copies: bool = True,
) -> ProcessingStore:
    """Open the store at this address: `sqlite:///file.db`, `sqlite://` (private) or `postgresql://…`.

    Its schema is brought up to date where that is safe by itself: on SQLite, and in an empty PostgreSQL
    database. Another PostgreSQL database with pending migrations is refused. With `as_is` the schema is
    left as found, for `migrate` to be called. Without `upgrade` a store that waits for migrations is refused: a server of an older
    program may be at work on it. With `copies` a SQLite store is copied to a file beside it before its schema changes.

    `encryption_keys` open what is sealed in the store; a store whose encryption key is not at hand is refused too, unless `as_is`.
    `parts` are what this process is going to do all the time; the store's `warnings` say where that is for one process and another does it.
    `UnusableStore` says what to change, `BadAddress` what to write in place of an address.
    """
    check_address(url)
    sealer = AesGcmCipher(keys_of(url, encryption_keys))
    if _scheme(url) == "sqlite":
        return await SqliteStore.open(url, queue_limit=queue_limit, as_is=as_is, sealer=sealer, parts=parts, upgrade=upgrade, copies=copies)
    return await PostgresStore.open(url, queue_limit=queue_limit, as_is=as_is, sealer=sealer, upgrade=upgrade)


def check_address(url: str) -> None:
    """Raise `BadAddress` for what cannot be the address of a store. Whether there is one is not looked at."""
    scheme = _scheme(url)
    if scheme == "sqlite":
        path_of(url)
    elif scheme not in _POSTGRES or "://" not in url:
        raise BadAddress(_no_engine(url))


def keys_of(url: str, encryption_keys: EncryptionKeys) -> Keys:
    """The keys of the store at this address: those given, and for a SQLite file those in the key file beside it."""
    given = encryption_keys.read()
    if _scheme(url) != "sqlite":
        return GivenKeys(given)
    file = encryption_keys.file or key_file_of(url)
    return KeyFile(file, given) if file else GivenKeys(given or [new_key()])


def key_file_of(url: str) -> Path | None:
    """Where the key file of a SQLite store is, or would be; None for a private store."""
    path = path_of(url)
    return Path(f"{path}.key") if path else None


def _no_engine(url: str) -> str:
    """Only what can be nothing but a scheme is repeated: another form of address may hold a password."""
    scheme = _scheme(url)
    if "://" in url and re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        return f"no storage engine is called '{scheme}'; there are {', '.join(ENGINES)}: {_WRITE}"
    return f"it is no address: {_WRITE}"


def _scheme(url: str) -> str:
    return url.partition(":")[0].casefold()
