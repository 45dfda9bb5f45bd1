"""The key that identities of erased persons are hashed with.

The store generates it, and stores it in plain text in the same database as the hashes; `docs/explanation/privacy.md` says so.
"""

from __future__ import annotations

from secrets import token_bytes

from touchbase.sql.statement import Execute, Plan, Statement
from touchbase.suppression.suppression_keys import KEY_BYTES

ERASURE = "erasure"
_SECRET = (("name", "text"),)
FIND_SECRET = Statement("find_secret", _SECRET, body="SELECT t.value FROM p CROSS JOIN server_secret t WHERE t.name = p.name")
INSERT_SECRET = Statement(
    "insert_secret",
    (*_SECRET, ("value", "bytea")),
    body="INSERT INTO server_secret (name, value) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
# Run once for each inbox batch; no row for a client without erasures.
SECRET_IF_ERASED = Statement(
    "secret_if_erased",
    (("client", "bigint"),),
    body="SELECT t.value FROM p CROSS JOIN server_secret t WHERE t.name = 'erasure' "
    "AND EXISTS (SELECT 1 FROM erased e WHERE e.client = p.client)",
)
REPLACE_SECRET = Statement(
    "replace_secret",
    (*_SECRET, ("value", "bytea")),
    body="UPDATE server_secret AS t SET value = p.value FROM p WHERE t.name = p.name",
)


def find_erasure_key() -> Plan[bytes | None]:
    """Return the key that erased identities are hashed with; None before the first erasure."""
    rows = yield Execute(FIND_SECRET, [(ERASURE,)])
    return bytes(rows[0][0]) if rows else None


def make_erasure_key(value: bytes | None = None) -> Plan[bytes]:
    """Return the key; without one, store `value` or a new random key first."""
    yield Execute(INSERT_SECRET, [(ERASURE, value or token_bytes(KEY_BYTES))])
    key = yield from find_erasure_key()
    assert key is not None
    return key


def replace_erasure_key(value: bytes) -> Plan[None]:
    """Replace the key, which has hashed nothing yet, by another store's key."""
    yield Execute(REPLACE_SECRET, [(ERASURE, value)])


def erasure_key_of(client: int) -> Plan[bytes | None]:
    """Return the key if this client has erased a person, else None."""
    rows = yield Execute(SECRET_IF_ERASED, [(client,)])
    return bytes(rows[0][0]) if rows else None
