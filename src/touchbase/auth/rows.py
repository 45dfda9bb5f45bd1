"""Rows to API keys, and back: the order of their columns."""

from __future__ import annotations

import msgspec

from touchbase.auth.api_key import ApiKey
from touchbase.sql.rows import Columns, encode
from touchbase.sql.statement import Row

KEY: Columns = (
    ("key_id", "text"), ("digest", "bytea"), ("scopes", "text"), ("client", "bigint"), ("name", "text"), ("created_us", "bigint"),
    ("env", "text"), ("expires_us", "bigint"), ("revoked_us", "bigint"), ("last_used_us", "bigint"), ("replaces", "text"),
    ("replaced_by", "text"),
)  # fmt: skip


_decode_scopes = msgspec.json.Decoder(list[str]).decode


def key_of(row: Row) -> ApiKey:
    """An API key of a `KEY` row."""
    key_id, digest, scopes, *rest = row
    return ApiKey(key_id, bytes(digest), tuple(_decode_scopes(scopes)), *rest)


def key_row(k: ApiKey) -> Row:
    """The key's row, in the order of `KEY`."""
    return (
        k.key_id, k.digest, encode(list(k.scopes)), k.client, k.name, k.created_us, k.env, k.expires_us, k.revoked_us,
        k.last_used_us, k.replaces, k.replaced_by,
    )  # fmt: skip
