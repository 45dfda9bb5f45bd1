"""Statements on clients."""

from __future__ import annotations

from touchbase.clients.rows import client_names
from touchbase.sql.statement import Statement

# Locked where several processes work: what a turn reads of one client's identities stays true until it ends,
# so that two turns never make two records of one person.
CLIENT_BY_NUMBER = Statement(
    "client_by_number",
    (("id", "bigint"),),
    sqlite=f"SELECT {client_names()} FROM client WHERE id = ?1",
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.id = p.id FOR NO KEY UPDATE OF c",
)
INSERT_CLIENT = Statement(
    "insert_client",
    (("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("made_by", "text")),
    body="INSERT INTO client (id, client_id, created_us, settings, made_by) SELECT * FROM p "
    "WHERE NOT EXISTS (SELECT 1 FROM client_alias a WHERE a.client_id = p.client_id) ON CONFLICT DO NOTHING",
)
CLIENT_BY_CLIENT_ID = Statement(
    "client_by_client_id",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.client_id = p.client_id",
)
SET_CLIENT_SETTINGS = Statement(
    "set_client_settings",
    (("client_id", "text"), ("settings", "text")),
    body="UPDATE client SET settings = p.settings FROM p WHERE client.client_id = p.client_id",
)
