"""Migrations: numbered SQL files beside each engine, each run once, in order, in a transaction (SQLite: all that wait in one).

The table `migration` records the name and digest of every file that ran. A file that was applied never
changes afterwards, and a store that knows more than this program is left alone.
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
"""Makes the whole schema; it has replaced the migrations of `squash.NAMES`."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file: `name` without its suffix, and the SQL in it."""

    name: str
    sql: str
    squash: Squash | None = None
    """Former migrations that this file has replaced."""
    recorded: str | None = None
    """The digest to record, where it is not that of `sql`: a conversion ends where this migration would."""

    @property
    def digest(self) -> str:
        """Tells whether the text is still the one that ran; line ends do not count."""
        return self.recorded or sha256("\n".join(self.sql.splitlines()).encode()).hexdigest()

    def conversion(self, squash: Squash) -> Migration:
        """The SQL from the former migrations to this one, to be recorded in their place."""
        return replace(self, sql=squash.sql, recorded=self.digest)


def packaged(engine: str) -> list[Migration]:
    """All migrations of one engine (its folder's name), in order."""
    folder = files("touchbase.storage") / engine / "migrations"
    found = {entry.name[:-4]: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".sql")}
    return [Migration(name, sql, Squash.of(engine) if name == INITIAL else None) for name, sql in sorted(found.items())]


def pending(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """The migrations that have not run yet, in order; the first is a conversion if the store has the migrations that it replaced.

    `UnusableStore` when an applied file has changed since, or when the store has migrations that this
    program does not know.
    """
    for migration in migrations:
        if migration.squash is not None and migration.squash.applies_to(applied):
            return [migration.conversion(migration.squash), *(each for each in migrations if each.name != migration.name)]
    unknown = sorted(applied.keys() - {migration.name for migration in migrations})
    if unknown:
        raise UnusableStore(
            f"the store is newer than this program: it has {', '.join(unknown)}; start a version of touchbase that knows it"
        )
    for migration in migrations:
        if applied.get(migration.name, migration.digest) != migration.digest:
            raise UnusableStore(
                f"migration {migration.name} is not the text that was applied to this store; "
                "reinstall touchbase, and put changes into a new file with the next number"
            )
    return [migration for migration in migrations if migration.name not in applied]


def refuse_foreign(tables: Sequence[str]) -> None:
    """Raise `UnusableStore` where a database that holds none of our migrations holds tables: they are another application's."""
    if tables:
        named = ", ".join(tables[:3]) + (", ..." if len(tables) > 3 else "")
        raise UnusableStore(f"this database belongs to another application: it has tables ({named}) and none of ours; name an empty one")


def out_of_date(todo: Sequence[Migration]) -> UnusableStore:
    """The refusal of a store that waits for migrations: only what serves, works or migrates may run them."""
    return UnusableStore(f"the store waits for {', '.join(migration.name for migration in todo)}; run touchbase migrate, then start again")
