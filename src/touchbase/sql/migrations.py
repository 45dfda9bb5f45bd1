"""Migrations: numbered texts, one for both engines, each run once, in order, in a transaction (SQLite: all pending ones in one).

The table `migration` records the name and digest of every text that ran. An applied text never changes afterwards, and a store with
migrations that this program does not know is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from touchbase.errors import UnusableStore
from touchbase.sql.dialect import Engine, schema_sql

TABLE = "CREATE TABLE IF NOT EXISTS migration (name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL)"
APPLIED = "SELECT name, digest FROM migration"
RECORD = "INSERT INTO migration (name, digest) VALUES ({}, {})"
SCHEMA = "0018_schema"
"""Creates the whole schema. It equals what the 17 migrations of revision 81a25171, up to `0018_moves`, made one after another."""
FORMER = frozenset(
    {
        "6df1185af48c9e35c37402782bb65771b8c4ff58986f4ac32caaeef8f726dd1d",  # SQLite
        "15bd20bee633bb84da23f5428a440621950dde3117afcdfdfd76544cf6ca0c05",  # PostgreSQL
    }
)
"""SHA-256 of the lines `NAME DIGEST` of those 17 migrations: a store with them has the schema of `SCHEMA`."""
UNFINISHED_COPY = "unfinished_copy"
"""Recorded as a migration while `touchbase copy` fills a store: until it is removed every program refuses the store."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered text: its `name` without the suffix, and its SQL for one engine."""

    name: str
    sql: str

    @property
    def digest(self) -> str:
        """SHA-256 of the SQL, regardless of line ends; it shows whether an applied text has changed."""
        return _digest(self.sql)


@cache
def packaged(engine: Engine) -> tuple[Migration, ...]:
    """Return all migrations for one engine, in order; cached with their digests, because every cell's store is compared with them."""
    texts = sorted(files("touchbase.sql").joinpath("schema").iterdir(), key=lambda file: file.name)
    return tuple(Migration(file.name[:-4], schema_sql(file.read_text("utf-8"), engine)) for file in texts if file.name.endswith(".sql"))


def pending(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """Return the migrations that have not run yet, in order.

    Raises `UnusableStore` when an applied text has changed, when the store has migrations that this program does not know, when it is
    older than `SCHEMA`, and for an unfinished copy.
    """
    if UNFINISHED_COPY in applied:
        raise UnusableStore("the store is an unfinished copy of another one: run the same `touchbase copy` again to finish it")
    former = [name for name in sorted(applied) if name < SCHEMA]
    if former:
        if _sha256("\n".join(f"{name} {applied[name]}" for name in former)) not in FORMER:
            raise UnusableStore(
                f"the store is too old for this version: its last migration is {max(applied)}. Install revision 81a25171, run its "
                "`touchbase migrate`, then that of this version (docs/how-to/upgrade.md)"
            )
        applied = {name: digest for name, digest in applied.items() if name not in former}
        migrations = [migration for migration in migrations if migration.name != SCHEMA]
    unknown = sorted(applied.keys() - {migration.name for migration in migrations})
    if unknown:
        raise UnusableStore(
            f"the store is newer than this program: it has {', '.join(unknown)}; start a version of touchbase that has them too"
        )
    for migration in migrations:
        if applied.get(migration.name, migration.digest) != migration.digest:
            raise UnusableStore(
                f"migration {migration.name} is not the text that was applied to this store; "
                "reinstall touchbase, and put changes into a new file with the next number"
            )
    return [migration for migration in migrations if migration.name not in applied]


def refuse_foreign(tables: Sequence[str]) -> None:
    """Raise `UnusableStore` for the tables of a database without migrations: they belong to another application."""
    if tables:
        named = ", ".join(tables[:3]) + (", ..." if len(tables) > 3 else "")
        raise UnusableStore(
            f"this database belongs to another application: it has tables ({named}), but not those of touchbase; name an empty database"
        )


def refused_by(migration: Migration, constraint: str) -> UnusableStore:
    """Return the error for a store that violates a constraint of a migration, which is named by what to do."""
    return UnusableStore(f"the store is not ready for the migration {migration.name}: {constraint.replace('_', ' ')}, then try again")


def out_of_date(waiting: Sequence[Migration]) -> UnusableStore:
    """Return the error for a store with pending migrations: only servers, workers and `touchbase migrate` may run them."""
    return UnusableStore(
        f"the store has pending migrations: {', '.join(migration.name for migration in waiting)}; run touchbase migrate, then start again"
    )


@cache
def _digest(sql: str) -> str:
    return _sha256("\n".join(sql.splitlines()))


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
