"""Grown stores: as many contacts as are wanted, with ten events each, made in bulk from the service's own rows.

Each row of a pattern (`bench.dataset_sample`) becomes an `INSERT ... SELECT` over a range of contact numbers, in which ids, times and
addresses are counted up and all else stays as the service wrote it. `touchbase verify --no-bodies` finds no difference in such a store
once its records, which no index for the search has, wait for one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.bodies import STRIDE
from bench.dataset_sample import EVENTS, Row, Sample, address_of, domain_of, make_samples
from bench.dialects import POSTGRES, SQLITE, Dialect
from touchbase.reports.parts import COUNTED, HOUR
from touchbase.sql.dialect import Engine
from touchbase.sql.migrations import packaged
from touchbase.storage.sqlite.connection import open_writer
from touchbase.storage.sqlite.schema import migrate
from touchbase.stores import open_store

CLIENT = 1
AT_ONCE = 20_000
"""Contacts of one transaction."""
RARE = 1_000
"""One contact of so many has the last pattern's history."""
STAFF = 10
"""Contacts of one company."""
DAY = 86_400_000_000
AGE, SPREAD = 40 * DAY, 30 * DAY
"""The contacts are from 40 to 10 days old: campaign after campaign, those of one in a scattered order."""
CAMPAIGN = 10_000
"""Contacts that were imported together."""
CUSTOM = 2
_COUNTED = ", ".join(f"'{effect}'" for effect in sorted(COUNTED))
HOURS = (
    f"INSERT INTO event_hour (client, hour, version) SELECT client, occurred_us / {HOUR}, count(*) FROM event "
    f"WHERE record_kind = 1 AND effect IN ({_COUNTED}) GROUP BY 1, 2"
)
"""The versions of hours with events, as writes count them."""
USED = {"contact": 1, "company": 1, "custom_field": CUSTOM, "delivery": EVENTS}
NEXT_ID = 10_000
_RECEIPT = re.compile(r"[0-9a-f]{13}\.[0-9a-f]{4}:")
"""Of the delivery, in a stamp."""
"""Ids that are left free behind ours."""


def create_dataset(
    database: str, count: int, folder: Path, superuser: str | None = None, *, deliveries: bool = True, clients: int = 1
) -> None:
    """Make this new store hold so many contacts, with the deliveries of their events or without.

    They are the client `default`'s; of several clients, `default-1` and so on, each has an equal number: a multiple of `STAFF`.
    """
    assert clients == 1 or count % (clients * STAFF) == 0
    sample = folder / "pattern"
    sample.mkdir(exist_ok=True)
    samples = make_samples(sample)
    if not deliveries:
        samples = [replace(first_sample, rows=_without_deliveries(first_sample.rows)) for first_sample in samples]
    if database.startswith("sqlite"):
        _grow_sqlite(database.removeprefix("sqlite:///"), count, samples, clients)
    else:
        asyncio.run(_grow_postgres(database, superuser or database, count, samples, clients))


def _grow_sqlite(path: str, count: int, samples: list[Sample], clients: int) -> None:
    with closing(open_writer(path, durable=False)) as connection:
        cursor = connection.cursor()
        migrate(cursor, packaged("sqlite"))
        cursor.execute("PRAGMA foreign_keys = OFF; PRAGMA cache_size = -400000")
        cursor.execute(_clients(clients))
        for first, last in _ranges(count):
            cursor.execute("BEGIN")
            for sql in statements(samples, SQLITE, count // clients):
                cursor.execute(sql, (first, last, count)[: 3 if "?3" in sql else 2])
            cursor.execute("COMMIT")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for sql in (*_ids(count), HOURS, *_counts("sqlite")):
            cursor.execute(sql)
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _grow_postgres(database: str, superuser: str, count: int, samples: list[Sample], clients: int) -> None:
    store = await open_store(database)  # brings the schema
    await store.close()
    parts = urlsplit(superuser)
    connection: Any = await asyncpg.connect(urlunsplit(parts._replace(path=urlsplit(database).path)))
    try:
        await connection.execute("SET synchronous_commit = off")
        await connection.execute(_clients(clients))
        for first, last in _ranges(count):
            async with connection.transaction():
                for sql in statements(samples, POSTGRES, count // clients):
                    await connection.execute(sql, *(first, last, count)[: 3 if "$3" in sql else 2])
        for sql in (*_ids(count), HOURS, *_counts("postgres")):
            await connection.execute(sql)
        await connection.execute("VACUUM ANALYZE")  # as autovacuum does with a store that grew by itself
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


def _ranges(count: int) -> Iterator[tuple[int, int]]:
    for first in range(1, count + 1, AT_ONCE):
        yield first, min(first + AT_ONCE - 1, count)


def _ids(count: int) -> Iterator[str]:
    for name, value in USED.items():
        yield f"UPDATE id_block SET next = {count * value + NEXT_ID} WHERE name = '{name}'"
    yield f"UPDATE id_block SET next = {CLIENT + NEXT_ID} WHERE name = 'client'"


def _clients(count: int) -> str:
    names = ["default"] if count == 1 else [f"default-{number}" for number in range(1, count + 1)]
    rows = ", ".join(f"({number}, '{name}', 0, '{{}}')" for number, name in enumerate(names, CLIENT))
    return f"INSERT INTO client (id, client_id, created_us, settings) VALUES {rows}"


def _counts(engine: Engine) -> list[str]:
    """The statements by which the migration counts the moves from status to status of all records."""
    (sql,) = (migration.sql for migration in packaged(engine) if migration.name == "0076_status_moves")
    return [statement for statement in sql.split(";") if "INSERT INTO status_move " in statement]


def _without_deliveries(rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """As events are that no webhook call told."""
    remaining = {table: row for table, row in rows.items() if not table.startswith("delivery")}
    return {
        table: [{column: _RECEIPT.sub("", value) if isinstance(value, str) else value for column, value in row.items()} for row in created]
        for table, created in (
            (table, [row | dict.fromkeys({"delivery_id"} & row.keys()) for row in value]) for table, value in remaining.items()
        )
    }


def statements(samples: list[Sample], dialect: Dialect, of_client: int) -> Iterator[str]:
    """What inserts a range of contacts with all that is theirs; the parameters are the first, the last and how many there are in all."""
    usual = len(samples) - 1
    rare = f"i % {RARE} = 0"
    for number, sample in enumerate(samples):
        here = rare if number == usual else f"i % {RARE} <> 0 AND i % {usual} = {number}"
        for table, rows in sample.rows.items():
            # A company is that of the first of its staff.
            condition = "i % 10 = 1" if table == "company" else here
            if table == "company" and number:
                continue
            for place, row in enumerate(rows):
                yield _insert(table, row, _Values(sample, place, dialect, of_client), condition)


def _insert(table: str, row: Row, values: _Values, condition: str) -> str:
    chosen = {column: values.of(table, column, value) for column, value in row.items()}
    into, numbers = f"INSERT INTO {table} ({', '.join(chosen)})", values.dialect.numbers
    first = f"{into} {numbers}" if values.dialect is POSTGRES else f"{numbers} {into}"
    return f"{first} SELECT {', '.join(chosen.values())} FROM n WHERE {condition}"


class _Values:
    """The expression for each value of a pattern's row: the same for contact `i` as it is for the pattern's own."""

    def __init__(self, sample: Sample, place: int, dialect: Dialect, of_client: int) -> None:
        self.dialect = dialect
        self._place = place
        self._client = f"((i - 1) / {of_client} + {CLIENT})"
        self._company = f"((i - 1) / {STAFF} + 1)"
        # Where a contact stands in time: its campaign's place, and within it wherever the stride leads.
        count = dialect.mark(3)
        campaign = f"(CASE WHEN {count} < {CAMPAIGN} THEN {count} ELSE {CAMPAIGN} END)"
        place = f"((i - 1) / {campaign} * {campaign} + (i * {STRIDE}) % {campaign})"
        self._shift = f"({place} * ({SPREAD} / {count}) - {AGE})"
        deliveries = sorted(row["id"] for row in sample.rows.get("delivery", ()))
        self._deliveries = {number: f"((i - 1) * {EVENTS} + {at})" for at, number in enumerate(deliveries, 1)}
        self._texts = {sample.address: _text(address_of("\0"), "i"), sample.domain: _text(domain_of("\0"), self._company)}
        self._texts |= {
            f'"company_id":{row["company_id"]}': f"""'"company_id":' || CAST({self._company} AS text)""" for row in sample.rows["contact"]
        }
        for at in _times(sample):
            self._texts[str(at)] = f"CAST({at} + {self._shift} AS text)"
            self._texts[f"{at:013x}."] = f"{dialect.hex(f'({at} + {self._shift})')} || '.'"  # the receipt in a stamp
        self._known = re.compile("|".join(re.escape(text) for text in self._texts))

    def of(self, table: str, column: str, value: object) -> str:
        """What stands in this column for contact `i`."""
        if value is None:
            return "NULL"
        if (table, column) == ("delivery", "key"):
            return self.dialect.digest(f"((i - 1) * {EVENTS} + {self._place})")
        if isinstance(value, bytes):
            return self.dialect.blob(self._filled(value.decode()))
        if isinstance(value, str):
            return self._filled(value)
        assert isinstance(value, int)
        return self._integer(table, column, value)

    def _integer(self, table: str, column: str, value: int) -> str:
        if column.endswith("_us"):
            return f"{value} + {self._shift}" if value else "0"
        counted = {
            "client": self._client,
            "company.id": self._company,
            "company_id": self._company,
            "contact.id": "i",
            "record_id": "i",
            "custom_field.id": f"((i - 1) * {CUSTOM} + {self._place + 1})",
        }
        if column == "delivery_id" or (column == "id" and table.startswith("delivery")):
            return self._deliveries[value]
        return counted.get(column) or counted.get(f"{table}.{column}") or str(value)

    def _filled(self, text: str) -> str:
        pieces, at = [], 0
        for result in self._known.finditer(text):
            pieces += [_quoted(text[at : result.start()]), self._texts[result[0]]]
            at = result.end()
        return " || ".join([*pieces, _quoted(text[at:])])


def _times(sample: Sample) -> set[int]:
    """Every time in the pattern's rows; stamps hold the same ones as text."""
    rows = [row for rows in sample.rows.values() for row in rows]
    return {value for row in rows for column, value in row.items() if column.endswith("_us") and value}


def _text(around: str, number: str) -> str:
    before, after = around.split("\0")
    return f"{_quoted(before)} || CAST({number} AS text) || {_quoted(after)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
