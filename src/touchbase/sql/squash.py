"""Conversion of stores made before their migrations were squashed into `0001_initial`.

A store with all of `NAMES` has the schema of `0001_initial` under other names, which the engine's `convert.sql` changes. A store
with only some of them must be migrated with an older revision first, because this one lacks the other migrations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from touchbase.errors import UnusableStore

NAMES = frozenset(
    {
        "0001_first", "0002_connections", "0003_shapes", "0004_access_tokens", "0005_clients_and_keys", "0006_idempotency",
        "0008_erasure", "0009_sealed_secrets", "0010_row_level_security", "0012_status_and_time", "0013_stuck", "0014_recent_calls",
        "0015_known_facts", "0016_places", "0017_repeats_and_problems", "0018_refusals", "0020_unproven", "0021_order_of_creation",
    }
)  # fmt: skip
LAST = max(NAMES)
DIGESTS = {
    "sqlite": "23110b6d68b85b4f40064568d382b45a259f909b46bc8447f51db7b9aa64471c",
    "postgres": "4a3e84d9e890485a491eda33648f93de649016fb091c552c57045092996a1728",
}
"""By engine: SHA-256 of the lines `NAME DIGEST` of all squashed migrations, in order."""


@dataclass(frozen=True, slots=True)
class Squash:
    """The conversion of one engine: the digest of the squashed migrations, and the SQL from them to the file that replaces them."""

    digest: str
    sql: str

    @classmethod
    def of(cls, engine: str) -> Squash:
        """Return the conversion of an engine, by the name of its folder."""
        return cls(DIGESTS[engine], (files("touchbase.storage") / engine / "convert.sql").read_text("utf-8"))

    def applies_to(self, applied: Mapping[str, str]) -> bool:
        """Return whether a store has all squashed migrations. Raises `UnusableStore` if it has only some, or other texts."""
        if applied.keys().isdisjoint(NAMES):
            return False
        lines = sorted(f"{name} {digest}" for name, digest in applied.items())
        if sha256("\n".join(lines).encode()).hexdigest() == self.digest:
            return True
        raise UnusableStore(
            f"the schema of this store is of a development version, last migrated by {max(applied)}: run `touchbase migrate` with the "
            f"last revision that has the migration {LAST}, then with this one"
        )
