"""The address book: which record has a key, for every way in.

A key is an e-mail address, a LinkedIn profile, a domain or an `external_id`, in its normal form. A record's present keys are in its
columns. Its further ones, such as the addresses of records that were merged into it, are rows of `link` with the tool '' that are open:
`until_us` is NULL. A closed row is a key that the record had until then. Webhooks read closed rows too, with the time of their event; for
everything else the key is free. At most one record has a key in its column or in an open row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from touchbase.records.fields import Field
from touchbase.records.further_emails import by_key, further_emails
from touchbase.records.models import Contact, Record
from touchbase.records.record_type import RECORD_TYPES
from touchbase.sql.builders import ROW_KEY, key_columns
from touchbase.sql.filters import Where
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement


def word_of(kind: int, field: Field) -> str:
    """Return the `object_type` of a key's rows."""
    return field.link or f"{RECORD_TYPES[kind].name}.{field.name}"


BOOK: dict[int, dict[str, str]] = {kind: {field.key: word_of(kind, field) for field in type_.keys} for kind, type_ in RECORD_TYPES.items()}
"""By kind of record: key column -> `object_type` of its rows. The first key of a record decides."""


def open_row(kind: int, column: str, key: str, client: str = "p.client") -> str:
    """Return the condition that a row `l` of `link` has the key in the expression `key`, and that it is open."""
    return f"l.client = {client} AND l.tool = '' AND l.object_type = '{BOOK[kind][column]}' AND l.object_id = {key} AND l.until_us IS NULL"


def find_by_key(name: str, kind: int, column: str, columns: Columns, *, more: str = "", lock: bool = False) -> Statement:
    """Build a query for the records `t` that have keys: client, key, and these columns; `more` are further expressions."""
    table, key = RECORD_TYPES[kind].name, f"p.{column}"
    present = f"SELECT o.id FROM {table} o WHERE o.client = p.client AND o.{column} = {key}"
    further = f"SELECT l.record_id FROM link l WHERE {open_row(kind, column, key)}"
    owner = f"COALESCE(({present}), ({further}))"
    select = f"SELECT p.client, {key}, {names(columns, 't.')}{more} FROM"
    where = f"CROSS JOIN {table} t WHERE t.client = p.client AND t.id ="
    # Read again once the row is locked: another transaction may have changed its key.
    ends = f" AND (t.{column} = {key} OR EXISTS ({further}))" if lock else ""
    return Statement(
        name,
        key_columns(column),
        sqlite_set=f"{select} p {where} {owner}{ends}",
        # With row-level security PostgreSQL looks nothing up by COALESCE or a subquery, which might leak values, and would read all records
        # of the client. It does not move a part with `OFFSET` into the rest.
        body=f"{select} (SELECT p.client, {key}, {owner} AS id FROM p OFFSET 0) p {where} p.id{ends}",
        lock=" ORDER BY t.client, t.id FOR UPDATE OF t" if lock else "",
    )


def add_filters(where: Where, kind: int, client: int, filters: Iterable[tuple[str, object]], of: str = "") -> None:
    """Require these values of columns, of which a key may be a further one of the record; None adds no condition.

    `of` is the prefix of the record's columns in the statement.
    """
    for column, value in filters:
        if column not in BOOK[kind] or value is None:
            where.equal(f"{of}{column}", value)
            continue
        present = f"SELECT o.id FROM {RECORD_TYPES[kind].name} o WHERE o.client = ? AND o.{column} = ?"
        further = f"SELECT l.record_id FROM link l WHERE {open_row(kind, column, '?', '?')}"
        owner = f"CASE WHEN EXISTS ({present}) THEN ({present}) ELSE ({further}) END"  # no COALESCE: see `find_by_key`
        where.add(f"{of}id = {owner}", *[client, value] * 3)


def keys_of(record: Record, column: str) -> list[str]:
    """Return the keys of a record in this column, with its further addresses."""
    key: str | None = getattr(record, column)
    keys = [key] if key else []  # a company without a domain has a blank one
    if column == "email_key" and isinstance(record, Contact) and record.further_emails is not None:
        keys += by_key(further_emails(record))
    return keys


_OWNER: Columns = (ROW_KEY[1], ("from_api", "bigint"))


def _owners(suffix: str, *, lock: bool) -> Mapping[int, Mapping[str, Statement]]:
    return {
        kind: {
            column: find_by_key(f"{RECORD_TYPES[kind].name}_{suffix}_{column.removesuffix('_key')}", kind, column, _OWNER, lock=lock)
            for column in columns
        }
        for kind, columns in BOOK.items()
    }


OWNER_OF = _owners("having", lock=False)
"""By kind and key column: client, key, id and `from_api` of the records that have keys. Without locks, as a lock may wait or deadlock."""
LOCKED_OWNER_OF = _owners("to_lock_by", lock=True)
"""The same, with locks on the records."""


def free_keys(kind: int) -> str:
    """Return the condition that no key of a new record `p` is a further one of another record."""
    return " AND ".join(f"NOT EXISTS (SELECT 1 FROM link l WHERE {open_row(kind, column, f'p.{column}')})" for column in BOOK[kind])


def still_free_keys(kind: int, table: str) -> str:
    """Return the condition on inserted rows for PostgreSQL, checked at the end of their insertion."""
    keys = " UNION ALL ".join(
        f"SELECT client, '{word}' AS word, {column} AS key FROM {table} WHERE {column} IS NOT NULL" for column, word in BOOK[kind].items()
    )
    return f"(SELECT require_free_keys(array_agg(client), array_agg(word), array_agg(key)) FROM ({keys}) k)"


_CLAIM = {
    column: Statement(
        f"claim_{column.removesuffix('_key')}",
        (*ROW_KEY, (column, "text")),
        sqlite="SELECT ?1, ?2, ?3",  # it has one writer
        body=f"UPDATE contact AS t SET {column} = p.{column} FROM p WHERE t.client = p.client AND t.id = p.id",
    )
    for column in ("email_key", "linkedin_key")
}


def claim_keys(contact: Contact, column: str, keys: Iterable[str]) -> Plan[None]:
    """Hold keys that become further ones in the unique index for a moment, so that two transactions cannot both take one.

    A creation at the same time waits for this transaction, and then finds the open row; or this transaction finds its contact.
    """
    for key in (*keys, getattr(contact, column)):
        yield Execute(_CLAIM[column], [(contact.client, contact.id, key)])


TAKEN_KEYS = Statement(
    "taken_keys",
    (("client", "bigint"), ("object_type", "text"), ("object_id", "text"), ("record_id", "bigint")),
    body="SELECT l.object_id FROM p CROSS JOIN link l WHERE l.client = p.client AND l.tool = '' AND l.object_type = p.object_type "
    "AND l.object_id = p.object_id AND l.until_us IS NULL AND l.record_id <> p.record_id",
)
"""Keys of records that another record has as further ones, read after the keys were written."""
