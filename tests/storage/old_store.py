"""Stores made before the migrations were squashed.

`old_stores/` holds one of each engine: a dump in SQL of what servers and commands of that revision wrote.
"""

from __future__ import annotations

import base64
from pathlib import Path

import apsw
import asyncpg

from touchbase.encryption.keys import EncryptionKeys

FOLDER = Path(__file__).parent / "old_stores"
KEY = base64.urlsafe_b64encode(b"fixture key, not a secret at all").decode()
"""Encrypted the secrets in them."""
KEYS = EncryptionKeys(KEY)


def make_old_sqlite(path: Path) -> str:
    """Make the SQLite file; answers its address."""
    connection = apsw.Connection(str(path))
    connection.execute((FOLDER / "sqlite.sql").read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{path}"


async def make_old_postgres(url: str) -> str:
    """Fill an empty PostgreSQL database; answers its address."""
    connection = await asyncpg.connect(url)
    schema = await connection.fetchval("SELECT current_schema()")
    await connection.execute((FOLDER / "postgres.sql").read_text(encoding="utf-8").replace("public.", f"{schema}."))
    await connection.close()
    return url
