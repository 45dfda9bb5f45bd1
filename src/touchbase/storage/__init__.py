"""Storage engines, chosen by the scheme of an address."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from touchbase.encryption.key_file import KeyFile
from touchbase.encryption.keys import EncryptionKeys, KeySource, StaticKeys, new_key
from touchbase.errors import BadAddress, UnusableStore
from touchbase.storage.sqlite.connection import path_of

ENGINES = ("postgresql", "sqlite")
QUEUE_LIMIT = 4_096
_POSTGRES = ("postgresql", "postgres")
_WRITE = "write sqlite:///touchbase.db or postgresql://USER:PASSWORD@HOST/NAME"


def check_address(url: str) -> None:
    """Raise `BadAddress` for a text that cannot be the address of a store. It does not check that the store exists."""
    scheme = scheme_of(url)
    if scheme == "sqlite":
        path_of(url)
    elif scheme not in _POSTGRES or "://" not in url:
        raise BadAddress(_no_engine(url))


def part_of_database(url: str) -> str | None:
    """Return the kind of an address that is no whole PostgreSQL database, so no cell can live there; None for a database.

    Raises `BadAddress`.
    """
    check_address(url)
    if scheme_of(url) == "sqlite":
        return "a SQLite file"
    return "a schema in a database" if "search_path" in dict(parse_qsl(urlsplit(url).query)) else None


def refuse_missing(url: str) -> None:
    """Raise `UnusableStore` for a SQLite file that does not exist: opening it would make an empty store in its place."""
    path = path_of(url) if scheme_of(url) == "sqlite" else None
    if path is not None and not Path(path).exists():
        raise UnusableStore(f"there is no file {path}: put it back, from a backup if it is lost")


def keys_of(url: str, encryption_keys: EncryptionKeys) -> KeySource:
    """Return the keys of the store at this address: the argument's, and for a SQLite file also its key file's."""
    keys = encryption_keys.read()
    if scheme_of(url) != "sqlite":
        return StaticKeys(keys)
    file = encryption_keys.file or key_file_of(url)
    return KeyFile(file, keys) if file else StaticKeys(keys or [new_key()])


def key_file_of(url: str) -> Path | None:
    """Return the path of a SQLite store's key file, whether it exists or not; None for a private store."""
    path = path_of(url)
    return Path(f"{path}.key") if path else None


def _no_engine(url: str) -> str:
    """Return the message for an unknown address. It quotes the scheme only, because another part may contain a password."""
    scheme = scheme_of(url)
    if "://" in url and re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        return f"no storage engine is called '{scheme}'; there are {', '.join(ENGINES)}: {_WRITE}"
    return f"it is not an address: {_WRITE}"


def scheme_of(url: str) -> str:
    """Return the scheme of an address."""
    return url.partition(":")[0].casefold()
