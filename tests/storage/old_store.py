"""A store of revision 81a25171, the oldest one whose stores this version upgrades; one of each engine.

Made once by that revision: `touchbase serve` with calls of its API (two clients, records with custom fields, webhooks, messages,
do-not-contact lists, an endpoint, an import, a merge, a deletion), then `touchbase persons erase` and `touchbase keys create`.
"""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import asyncpg

from touchbase.encryption.keys import EncryptionKeys

FOLDER = Path(__file__).parent / "old_stores"
KEY = base64.urlsafe_b64encode(b"fixture key, not a secret at all").decode()
"""Encrypted the secrets in them."""
KEYS = EncryptionKeys(KEY)


def make_old_sqlite(path: Path) -> str:
    """Write the SQLite file; return its address."""
    path.write_bytes(gzip.decompress((FOLDER / "sqlite.db.gz").read_bytes()))
    return f"sqlite:///{path}"


async def make_old_postgres(url: str) -> str:
    """Fill an empty PostgreSQL database; return its address."""
    connection = await asyncpg.connect(url)
    schema = await connection.fetchval("SELECT current_schema()")
    await connection.execute((FOLDER / "postgres.sql").read_text(encoding="utf-8").replace("public.", f"{schema}."))
    await connection.close()
    return url
