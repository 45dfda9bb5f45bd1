"""Reading API keys: by id, and in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.auth import api_key
from touchbase.auth.api_key import ApiKey
from touchbase.auth.commands import FindKey, ListKeys
from touchbase.auth.rows import KEY, key_of
from touchbase.sql.filters import Where
from touchbase.sql.rows import names
from touchbase.sql.statement import Plan, Select

_KEY = names(KEY)


def find(query: FindKey) -> Plan[ApiKey | None]:
    """The key of an id."""
    rows = yield Select(f"SELECT {_KEY} FROM api_key WHERE key_id = ?", (query.key_id,))
    return key_of(rows[0]) if rows else None


def _page(query: ListKeys) -> Plan[list[ApiKey]]:
    where = Where()
    where.equal("client", query.client)
    if query.state == api_key.REVOKED:
        where.hold("revoked_us IS NOT NULL")
    elif query.state is not None:
        where.hold("revoked_us IS NULL")
        held = "expires_us <= ?" if query.state == api_key.EXPIRED else "COALESCE(expires_us > ?, true)"
        where.hold(held, query.at)
    if query.before is not None:
        where.hold("(created_us, key_id) < (?, ?)", *query.before)
    rows = yield Select(
        f"SELECT {_KEY} FROM api_key WHERE {where} ORDER BY created_us DESC, key_id DESC LIMIT ?", (*where.params, query.limit)
    )
    return [key_of(row) for row in rows]


ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {ListKeys: _page}
