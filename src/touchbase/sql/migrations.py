"""Migrations: numbered SQL files of each engine, each run once, in order, in a transaction (SQLite: all pending ones in one).

The table `migration` records the name and digest of every file that ran. An applied file never changes
afterwards, and a store with migrations that this program does not know is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files

from touchbase.errors import UnusableStore
from touchbase.sql.squash import Squash

TABLE = "CREATE TABLE IF NOT EXISTS migration (name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL)"
APPLIED = "SELECT name, digest FROM migration"
RECORD = "INSERT INTO migration (name, digest) VALUES ({}, {})"
INITIAL = "0001_initial"
"""Creates the whole schema; it has replaced the migrations of `squash.NAMES`."""
UNFINISHED_COPY = "unfinished_copy"
"""Recorded as a migration while `touchbase copy` fills a store: until it is removed every program refuses the store."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file: its `name` without the suffix, and its SQL."""

    name: str
    sql: str
    squash: Squash | None = None
    """Former migrations that this file has replaced."""
    recorded: str | None = None
    """The digest to record, where it is not that of `sql`: a conversion ends where this migration would."""

    @property
    def digest(self) -> str:
        """SHA-256 of the text, regardless of line ends; it shows whether an applied file has changed."""
        return self.recorded or sha256("\n".join(self.sql.splitlines()).encode()).hexdigest()

    def conversion(self, squash: Squash) -> Migration:
        """Return the SQL that converts the former migrations to this one, to be recorded in their place."""
        return replace(self, sql=squash.sql, recorded=self.digest)


def packaged(engine: str) -> list[Migration]:
    """Return all migrations of one engine (its folder's name), in order."""
    folder = files("touchbase.storage") / engine / "migrations"
    found = {entry.name[:-4]: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".sql")}
    return [Migration(name, sql, Squash.of(engine) if name == INITIAL else None) for name, sql in sorted(found.items())]


def pending(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """Return the migrations that have not run yet, in order.

    The first one is a conversion if the store has the migrations that it replaced.
    Raises `UnusableStore` when an applied file has changed, when the store has migrations that this program does not know,
    and for an unfinished copy.
    """
    if UNFINISHED_COPY in applied:
        raise UnusableStore("the store is an unfinished copy of another one: run the same `touchbase copy` again to finish it")
    for migration in migrations:
        if migration.squash is not None and migration.squash.applies_to(applied):
            return [migration.conversion(migration.squash), *(each for each in migrations if each.name != migration.name)]
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


def out_of_date(waiting: Sequence[Migration]) -> UnusableStore:
    """Return the error for a store with pending migrations: only servers, workers and `touchbase migrate` may run them."""
    return UnusableStore(
        f"the store has pending migrations: {', '.join(migration.name for migration in waiting)}; run touchbase migrate, then start again"
    )
