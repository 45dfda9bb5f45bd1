"""Statements on events and identity links."""

from __future__ import annotations

from touchbase.history.rows import EVENT
from touchbase.sql.builders import RECORD, RECORD_MATCH, find, insert
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement, delete

REF: Columns = (("client", "bigint"), ("tool", "text"), ("object_type", "text"), ("object_id", "text"))
LINK: Columns = (*REF, ("id", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"))
INSERT_EVENT = insert("event", EVENT, "record_kind, record_id, occurred_us, key")
REF_MATCH = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
EVENTS_OF = find("events_of", "event", EVENT, RECORD, RECORD_MATCH)
LINK_BY_REF = find("link_by_ref", "link", LINK, REF, REF_MATCH)
LINKS_OF = find("links_of", "link", LINK, RECORD, RECORD_MATCH)
SAVE_LINK = Statement(
    "save_link",
    LINK,
    body=f"INSERT INTO link ({names(LINK)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET record_kind = excluded.record_kind, record_id = excluded.record_id",
)
MOVE_LINKS = Statement(
    "move_links",
    (*RECORD, ("to_id", "bigint")),
    sqlite="UPDATE link SET record_id = ?4 WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3",
    body=f"UPDATE link t SET record_id = p.to_id FROM p WHERE {RECORD_MATCH}",
)
DELETE_EVENTS_OF = delete("delete_events_of", "event", RECORD)
