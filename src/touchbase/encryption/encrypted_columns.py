"""Encrypted columns: encrypt on write, decrypt on read, re-encrypt when the key changes.

A column listed in `TABLES` is encrypted, checked at start and included in key rotation.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_bytes, token_urlsafe

from touchbase.common.cipher import Cipher
from touchbase.encryption.cipher import PREFIX, DecryptionFailed, EncryptionState, LostSecret, SecretLocation, is_encrypted, key_id_of
from touchbase.errors import UnusableStore
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

LOG = logging.getLogger("touchbase.storage")

EMPTY = (None, "", "[]")
"""Values without a secret; they are stored unencrypted."""
CANARY = "a canary"
MAX_LISTED = 100
"""Undecryptable secrets that are listed one by one."""


@dataclass(frozen=True, slots=True)
class EncryptedTable:
    """A table with encrypted columns; every whole row begins with `key`."""

    name: str
    key: Columns
    columns: Mapping[str, Callable[[], str]]
    """Each encrypted column, and a function that returns the replacement of a secret that cannot be decrypted."""

    def location(self, column: str, row: Row) -> tuple[object, ...]:
        """Return the associated data of this row's ciphertext: table, column and key."""
        return (self.name, column, *row[: len(self.key)])


def _unknown_secrets() -> str:
    """Return a random secret that no sender knows. Without any secret the connection would accept every sender."""
    return encode([token_urlsafe(32)])


def _unknown_signing_secrets() -> str:
    """Return the list of one random secret of an outgoing webhook: until it is rotated, no receiver accepts a signature."""
    return encode([["whsec_" + b64encode(token_bytes(32)).decode(), None]])


CONNECTION_TABLE = EncryptedTable(
    "connection",
    (("client", "bigint"), ("channel", "text"), ("tool", "text")),
    {"secrets": _unknown_secrets, "access_token": lambda: ""},
)
WEBHOOK_TABLE = EncryptedTable("webhook_endpoint", (("client", "bigint"), ("id", "bigint")), {"secrets": _unknown_signing_secrets})
CELL_TABLE = EncryptedTable("cell", (("number", "bigint"),), {"address": lambda: ""})
"""The addresses of other stores, with their passwords."""
REFUSED_TABLE = EncryptedTable("refused_body", (("client", "bigint"), ("digest", "text")), {"content": lambda: ""})
"""The bodies of refused webhooks; one that cannot be decrypted is lost."""
OBJECT_KEY_TABLE = EncryptedTable("object_key", (("client", "bigint"),), {"secret": lambda: b64encode(token_bytes(32)).decode()})
"""The keys of bodies in object storage; with another key such a body is lost."""
TABLES = (CONNECTION_TABLE, WEBHOOK_TABLE, CELL_TABLE, REFUSED_TABLE, OBJECT_KEY_TABLE)


def encrypted_table(name: str) -> EncryptedTable | None:
    """Return the encrypted columns of a table; None if it has none."""
    return next((table for table in TABLES if table.name == name), None)


RECORD_KEY = Statement(
    "record_key",
    (("key_id", "text"), ("canary", "text")),
    # An update that changes nothing: it locks the row, so that retiring the key and using it wait for each other.
    "INSERT INTO encryption_key (key_id, canary) SELECT p.key_id, p.canary FROM p WHERE true "
    "ON CONFLICT (key_id) DO UPDATE SET key_id = excluded.key_id",
)
FORGET_KEYS = Statement(
    "forget_keys", (("key_id", "text"),), "DELETE FROM encryption_key t USING p WHERE t.key_id <> p.key_id RETURNING t.key_id", by_row=True
)


def encrypt_row(cipher: Cipher, table: EncryptedTable, columns: Columns, row: Row) -> Plan[Row]:
    """Encrypt the secrets of a row, and record the key in the same transaction."""
    encrypted = encrypt_values(cipher, table, columns, row)
    if encrypted != tuple(row):
        yield from record_key(cipher)
    return encrypted


def encrypt_values(cipher: Cipher, table: EncryptedTable, columns: Columns, row: Row) -> Row:
    """Return a row with its secrets encrypted; the caller records the key. Raises `Invalid` without an encryption key."""
    return tuple(
        cipher.encrypt(value, table.location(column, row)) if column in table.columns and value not in EMPTY else value
        for (column, _), value in zip(columns, row, strict=True)
    )


def decrypt_row(cipher: Cipher, table: EncryptedTable, columns: Columns, row: Row) -> Row:
    """Decrypt the secrets of a row. Raises `DecryptionFailed`, an `Overloaded`."""
    try:
        return tuple(
            cipher.decrypt(value, table.location(column, row))
            if column in table.columns and value not in EMPTY and is_encrypted(value)
            else value
            for (column, _), value in zip(columns, row, strict=True)
        )
    except DecryptionFailed as error:
        LOG.error("%s", error.why)
        raise


def record_key(cipher: Cipher) -> Plan[None]:
    """Record that the present key is in use, so that no server starts without it."""
    key_id = cipher.current_id()
    yield Execute(RECORD_KEY, [(key_id, cipher.encrypt(CANARY, _canary_of(key_id)))])


def _canary_of(key_id: str) -> tuple[object, ...]:
    return ("seal_key", "canary", key_id)  # the table's former name: stored canaries are bound to it


def check_keys(cipher: Cipher) -> Plan[bool]:
    """Check that all recorded keys are available; return whether plain secrets need encryption. Raises `UnusableStore`."""
    rows = yield Select("SELECT key_id, canary FROM encryption_key", ())
    for key_id, canary in rows:
        try:
            cipher.decrypt(canary, _canary_of(key_id))
        except DecryptionFailed:
            raise UnusableStore(
                f"the secrets in this store are encrypted with the key {key_id}, which is missing or wrong: "
                "set TOUCHBASE_ENCRYPTION_KEY (during a key change TOUCHBASE_ENCRYPTION_KEY_OLD), or restore the store's key file; "
                "`touchbase encryption-keys check` shows details"
            ) from None
    for table in TABLES:
        for column in table.columns:
            if not cipher.can_encrypt and (yield _unencrypted(table, column, 1)):
                raise UnusableStore(
                    "this store contains unencrypted secrets, and no encryption key is set: "
                    "generate one with `touchbase encryption-keys generate` and set it as TOUCHBASE_ENCRYPTION_KEY"
                )
            if cipher.can_encrypt and (yield _unencrypted(table, column, 1)):
                return True
    return False


def reencrypt(cipher: Cipher, limit: int | None = None) -> Plan[int]:
    """Encrypt up to `limit` secrets that are plain or encrypted with an older key; return how many."""
    count = 0
    for table in TABLES:
        for column in table.columns:
            left = None if limit is None else limit - count
            rows = yield Select(*_not_encrypted_with(table, column, cipher.current_id(), left))
            if rows:
                yield from record_key(cipher)
                yield from _replace_secrets(cipher, table, column, rows)
            count += len(rows)
    return count


def _replace_secrets(cipher: Cipher, table: EncryptedTable, column: str, rows: Sequence[Row]) -> Plan[None]:
    """Replace secrets of rows that end with the old text.

    Plain ones are first overwritten where they are, with as many asterisks: SQLite moves rows that grow to other pages, and leaves copies
    of what they were in the unused part of the old page.
    """
    blank = {row: row if is_encrypted(row[-1]) else (*row[:-1], "*" * len(row[-1].encode())) for row in rows}
    replace = _replace_secret(table, column)
    yield Execute(replace, [(*row, blanked[-1]) for row, blanked in blank.items() if blanked != row])
    yield Execute(replace, [(*blanked, _reencrypted(cipher, table, column, row)) for row, blanked in blank.items()])


@command(cipher=True, scope=ALL_CLIENTS)
def retire_keys(cipher: Cipher) -> Plan[list[str]]:
    """Remove the records of all encryption keys except the present one, re-encrypting their values; return the removed ids."""
    forgotten = yield Execute(FORGET_KEYS, [(cipher.current_id(),)])
    yield from reencrypt(cipher)
    return sorted(key_id for (key_id,) in forgotten)


@query(cipher=True, scope=ALL_CLIENTS)
def check_encryption(cipher: Cipher) -> Plan[EncryptionState]:
    """Decrypt every encrypted secret, and count them."""
    state = EncryptionState()
    for key_id, canary in (yield Select("SELECT key_id, canary FROM encryption_key", ())):
        _try_decrypt(cipher, canary, _canary_of(key_id), state)
    for table in TABLES:
        for column in table.columns:
            for row in (yield Select(f"SELECT {names(table.key)}, {column} FROM {table.name}", ())):
                text = row[-1]
                if text in EMPTY:
                    continue
                if not is_encrypted(text):
                    state.clear += 1
                    continue
                state.by_key[key_id_of(text)] = state.by_key.get(key_id_of(text), 0) + 1
                _try_decrypt(cipher, text, table.location(column, row), state)
    return state


def _try_decrypt(cipher: Cipher, ciphertext: str, location: tuple[object, ...], state: EncryptionState) -> None:
    try:
        cipher.decrypt(ciphertext, location)
    except DecryptionFailed as error:
        if len(state.lost) < MAX_LISTED:
            state.lost.append(LostSecret(location, error.reason))


def _unencrypted(table: EncryptedTable, column: str, limit: int | None) -> Select:
    return Select(*_not_encrypted_with(table, column, "", limit))


def _not_encrypted_with(table: EncryptedTable, column: str, key_id: str, limit: int | None) -> tuple[str, Row]:
    """Return a query for secrets not encrypted with this key; with an empty key id, for plain secrets."""
    prefix = PREFIX + (f"{key_id}:" if key_id else "")
    sql = f"SELECT {names(table.key)}, {column} FROM {table.name} WHERE {column} NOT IN ('', '[]') AND {column} NOT LIKE ?"
    return (sql, (f"{prefix}%",)) if limit is None else (f"{sql} LIMIT ?", (f"{prefix}%", limit))


def _reencrypted(cipher: Cipher, table: EncryptedTable, column: str, row: Row) -> str:
    location, text = table.location(column, row), row[-1]
    return cipher.encrypt(cipher.decrypt(text, location) if is_encrypted(text) else text, location)


def _replace_secret(table: EncryptedTable, column: str) -> Statement:
    """Return the statement that replaces a secret, unless it has changed since it was read."""
    same = " AND ".join(f"t.{name} = p.{name}" for name, _ in table.key)
    return Statement(
        f"reseal_{table.name}_{column}",
        (*table.key, ("old", "text"), ("new", "text")),
        f"UPDATE {table.name} AS t SET {column} = p.new FROM p WHERE {same} AND t.{column} = p.old",
        by_row=True,
    )


@command(cipher=True, scope=ALL_CLIENTS)
def reencrypt_batch(cipher: Cipher, limit: int) -> Plan[int]:
    """Encrypt up to `limit` secrets that are in plain text or under another key than the present one; returns the number of them."""
    return reencrypt(cipher, limit)


@command(cipher=True, scope=ALL_CLIENTS)
def replace_lost(cipher: Cipher) -> Plan[list[SecretLocation]]:
    """Replace each secret that no available key decrypts with a random one, and remove the lost keys; returns the locations.

    Webhooks that are signed with a lost secret are refused until a new one is set.
    """
    replaced: list[SecretLocation] = []
    for table in TABLES:
        for column, instead in table.columns.items():
            rows = yield Select(*_not_encrypted_with(table, column, cipher.current_id(), None))
            lost = [row for row in rows if is_encrypted(row[-1]) and not _can_decrypt(cipher, row[-1], table.location(column, row))]
            replacements = [(*row, _encrypted(cipher, instead(), table.location(column, row))) for row in lost]
            yield Execute(_replace_secret(table, column), replacements)
            replaced += [table.location(column, row) for row in lost]
    yield from record_key(cipher)
    yield from retire_keys.plan(cipher)
    return replaced


def _can_decrypt(cipher: Cipher, ciphertext: str, location: tuple[object, ...]) -> bool:
    try:
        cipher.decrypt(ciphertext, location)
    except DecryptionFailed:
        return False
    return True


def _encrypted(cipher: Cipher, text: str, location: tuple[object, ...]) -> str:
    return text if text in EMPTY else cipher.encrypt(text, location)
