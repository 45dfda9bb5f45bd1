"""Which tables hold a client's data: the one list that removing a client goes by.

A test compares it with the schema of both engines: a table with a column `client` that is missing here fails it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientTable:
    """One table with a column `client`."""

    name: str
    key: tuple[str, ...]
    """The columns that, behind the client, name a row; an index begins with the client and these."""
    beside: tuple[str, ...] = ()
    """Tables with a row of the same (client, id) for each row here; they go with it, and have no index of their own to be found by."""
    weight: str = ""
    """The column that says how many bytes lie beside a row."""


CLIENT_TABLES = (
    ClientTable("contact", ("id",)),  # before the companies, which it refers to
    ClientTable("company", ("id",)),
    ClientTable("custom_field", ("record_kind", "record_id", "name")),
    ClientTable("event", ("record_kind", "record_id", "occurred_us", "key")),
    ClientTable("link", ("tool", "object_type", "object_id")),
    ClientTable("delivery", ("id",), beside=("delivery_body",), weight="size"),
    ClientTable("connection", ("channel", "tool")),
    ClientTable("fetch_state", ("tool",)),
    ClientTable("fetch_queue", ("tool", "object_type", "object_id")),
    ClientTable("pending_company_link", ("tool", "object_type", "object_id", "record_kind", "record_id")),
    ClientTable("dedupe_key", ("key",)),
    ClientTable("refusal", ("received_us", "id")),
    ClientTable("idempotency_key", ("key",)),
    ClientTable("erasure", ("id",)),
    ClientTable("erased", ("digest",)),
    ClientTable("api_key", ("key_id",)),
    ClientTable("client_alias", ("client_id",)),
)
"""In the order in which they are emptied. The client's own row goes last."""
