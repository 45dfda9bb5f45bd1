"""Sealed columns: which they are, sealed as a row is written and opened as it is read, and sealed again with a new key.

A column joins by standing in `TABLES`: what follows here, the check at start and the rotation included, then holds for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe

from touchbase.connections.rows import CONNECTION, secrets_text
from touchbase.encryption.cipher import PREFIX, DecryptionFailed, is_sealed, key_id_of
from touchbase.encryption.commands import CheckEncryption, EncryptionState, LostSecret, Place, Reencrypt, ReplaceLost, RetireKeys
from touchbase.encryption.protocol import Cipher
from touchbase.errors import UnusableStore
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

LOG = logging.getLogger("touchbase.storage")

NOTHING = (None, "", "[]")
"""Stands for no secret, and is kept as it is."""
CANARY = "a canary"
LOST = 100
"""Secrets that cannot be opened which are named one by one."""


@dataclass(frozen=True, slots=True)
class EncryptedTable:
    """A table with sealed columns. Its rows begin with `key`, wherever they are written or read whole."""

    name: str
    key: Columns
    columns: Mapping[str, Callable[[], str]]
    """Each sealed column, and what takes the place of a text that can never be opened again."""

    def place(self, column: str, row: Row) -> tuple[object, ...]:
        """What a sealed text of this row is bound to."""
        return (self.name, column, *row[: len(self.key)])


def _nobody_knows() -> str:
    """Secrets that no call can prove to know: to take lost ones away would open the door to everybody."""
    return secrets_text([token_urlsafe(32)])


CONNECTION_TABLE = EncryptedTable("connection", CONNECTION[:3], {"secrets": _nobody_knows, "access_token": lambda: ""})
TABLES = (CONNECTION_TABLE,)

NOTE_KEY = Statement(
    "note_key",
    (("key_id", "text"), ("canary", "text")),
    # An update that changes nothing, so that whoever retires the key waits for us, or we for them.
    "INSERT INTO encryption_key (key_id, canary) SELECT p.key_id, p.canary FROM p WHERE true "
    "ON CONFLICT (key_id) DO UPDATE SET key_id = excluded.key_id",
)
FORGET_KEYS = Statement(
    "forget_keys",
    (("key_id", "text"),),
    "DELETE FROM encryption_key t USING p WHERE t.key_id <> p.key_id RETURNING t.key_id",
    sqlite="DELETE FROM encryption_key WHERE key_id <> ?1 RETURNING key_id",
)


def sealed_row(sealer: Cipher, table: EncryptedTable, columns: Columns, row: Row) -> Plan[Row]:
    """The row with its secrets sealed; their key is noted in the same transaction."""
    found = list(row)
    for place, (column, _) in enumerate(columns):
        if column in table.columns and row[place] not in NOTHING:
            found[place] = sealer.seal(row[place], table.place(column, row))
    if found != list(row):
        yield from note_key(sealer)
    return tuple(found)


def opened_row(sealer: Cipher, table: EncryptedTable, columns: Columns, row: Row) -> Row:
    """The row with its secrets in clear; raises `Overloaded` when they cannot be opened."""
    try:
        return tuple(
            sealer.open(value, table.place(column, row)) if column in table.columns and value not in NOTHING and is_sealed(value) else value
            for (column, _), value in zip(columns, row, strict=True)
        )
    except DecryptionFailed as error:
        LOG.error("%s", error.why)
        raise


def note_key(sealer: Cipher) -> Plan[None]:
    """Note that the present key has sealed something, so that no server starts without it."""
    key_id = sealer.current_id()
    yield Execute(NOTE_KEY, [(key_id, sealer.seal(CANARY, _canary_of(key_id)))])


def _canary_of(key_id: str) -> tuple[object, ...]:
    return ("seal_key", "canary", key_id)  # the table's former name: stored canaries are bound to it


def check_keys(sealer: Cipher) -> Plan[bool]:
    """Refuse a store whose keys are not at hand; answers whether secrets in clear wait to be sealed."""
    rows = yield Select("SELECT key_id, canary FROM encryption_key", ())
    for key_id, canary in rows:
        try:
            sealer.open(canary, _canary_of(key_id))
        except DecryptionFailed:
            raise UnusableStore(
                f"the secrets in this store are sealed with the encryption key {key_id}, which is not at hand (or is not the true one): "
                "set TOUCHBASE_ENCRYPTION_KEY, or while keys change TOUCHBASE_ENCRYPTION_KEY_OLD, or put the store's key file back; "
                "`touchbase encryption-keys check` tells more"
            ) from None
    for table in TABLES:
        for column in table.columns:
            if not sealer.can_seal and (yield _clear(table, column, 1)):
                raise UnusableStore(
                    "this store holds secrets in clear, and there is no encryption key to seal them with: "
                    "`touchbase encryption-keys generate` makes one, set it as TOUCHBASE_ENCRYPTION_KEY"
                )
            if sealer.can_seal and (yield _clear(table, column, 1)):
                return True
    return False


def seal_again(sealer: Cipher, limit: int | None = None) -> Plan[int]:
    """Seal what is in clear, or sealed with another key than the present one: up to `limit` secrets; answers how many."""
    sealed = 0
    for table in TABLES:
        for column in table.columns:
            left = None if limit is None else limit - sealed
            rows = yield Select(*_others(table, column, sealer.current_id(), left))
            if rows:
                yield from note_key(sealer)
                yield Execute(_reseal(table, column), [_sealed_anew(sealer, table, column, row) for row in rows])
            sealed += len(rows)
    return sealed


def retire_keys(command: RetireKeys, sealer: Cipher) -> Plan[list[str]]:
    """Forget every other key; what was sealed with one meanwhile is sealed again, so nothing needs it any more."""
    forgotten = yield Execute(FORGET_KEYS, [(sealer.current_id(),)])
    yield from seal_again(sealer)
    return sorted(key_id for (key_id,) in forgotten)


def check_seals(query: CheckEncryption, sealer: Cipher) -> Plan[EncryptionState]:
    """Try every sealed secret."""
    found = EncryptionState()
    for key_id, canary in (yield Select("SELECT key_id, canary FROM encryption_key", ())):
        _try(sealer, canary, _canary_of(key_id), found)
    for table in TABLES:
        for column in table.columns:
            for row in (yield Select(f"SELECT {names(table.key)}, {column} FROM {table.name}", ())):
                text = row[-1]
                if text in NOTHING:
                    continue
                if not is_sealed(text):
                    found.clear += 1
                    continue
                found.by_key[key_id_of(text)] = found.by_key.get(key_id_of(text), 0) + 1
                _try(sealer, text, table.place(column, row), found)
    return found


def _try(sealer: Cipher, sealed: str, place: tuple[object, ...], found: EncryptionState) -> None:
    try:
        sealer.open(sealed, place)
    except DecryptionFailed as error:
        if len(found.lost) < LOST:
            found.lost.append(LostSecret(place, error.reason))


def _clear(table: EncryptedTable, column: str, limit: int | None) -> Select:
    return Select(*_others(table, column, "", limit))


def _others(table: EncryptedTable, column: str, key_id: str, limit: int | None) -> tuple[str, Row]:
    """The secrets that this key has not sealed; without a key, those that none has."""
    sealed = PREFIX + (f"{key_id}:" if key_id else "")
    sql = f"SELECT {names(table.key)}, {column} FROM {table.name} WHERE {column} NOT IN ('', '[]') AND {column} NOT LIKE ?"
    return (sql, (f"{sealed}%",)) if limit is None else (f"{sql} LIMIT ?", (f"{sealed}%", limit))


def _sealed_anew(sealer: Cipher, table: EncryptedTable, column: str, row: Row) -> Row:
    place, text = table.place(column, row), row[-1]
    return (*row, sealer.seal(sealer.open(text, place) if is_sealed(text) else text, place))


def _reseal(table: EncryptedTable, column: str) -> Statement:
    """Put the new text in, unless the secret was changed meanwhile."""
    count = len(table.key)
    same = " AND ".join(f"t.{name} = p.{name}" for name, _ in table.key)
    numbered = " AND ".join(f"{name} = ?{n}" for n, (name, _) in enumerate(table.key, 1))
    return Statement(
        f"reseal_{table.name}_{column}",
        (*table.key, ("old", "text"), ("new", "text")),
        f"UPDATE {table.name} AS t SET {column} = p.new FROM p WHERE {same} AND t.{column} = p.old",
        sqlite=f"UPDATE {table.name} SET {column} = ?{count + 2} WHERE {numbered} AND {column} = ?{count + 1}",
    )


def seal_more(command: Reencrypt, sealer: Cipher) -> Plan[int]:
    """`Reencrypt`."""
    return seal_again(sealer, command.limit)


def replace_lost(command: ReplaceLost, sealer: Cipher) -> Plan[list[Place]]:
    """`ReplaceLost`."""
    replaced: list[Place] = []
    for table in TABLES:
        for column, instead in table.columns.items():
            rows = yield Select(*_others(table, column, sealer.current_id(), None))
            lost = [row for row in rows if is_sealed(row[-1]) and not _opens(sealer, row[-1], table.place(column, row))]
            anew = [(*row, _sealed_text(sealer, instead(), table.place(column, row))) for row in lost]
            yield Execute(_reseal(table, column), anew)
            replaced += [table.place(column, row) for row in lost]
    yield from note_key(sealer)
    yield from retire_keys(RetireKeys(), sealer)
    return replaced


def _opens(sealer: Cipher, sealed: str, place: tuple[object, ...]) -> bool:
    try:
        sealer.open(sealed, place)
    except DecryptionFailed:
        return False
    return True


def _sealed_text(sealer: Cipher, text: str, place: tuple[object, ...]) -> str:
    return text if text in NOTHING else sealer.seal(text, place)
