"""SQL of events and identity links: columns, row mapping and statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.history.events import IMPORT, VIA_API, Detail, StoredEvent
from touchbase.history.identity_links import Link
from touchbase.history.last_writer_wins import Stamps
from touchbase.history.status import CRM_STATUS, RESUBSCRIBE, STATUS
from touchbase.sql.builders import RECORD, RECORD_MATCH, find, insert
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

EVENT: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("occurred_us", "bigint"), ("key", "text"),
    ("event", "text"), ("effect", "text"), ("status", "text"), ("tool", "text"), ("channel", "text"), ("campaign", "text"),
    ("delivery_id", "bigint"), ("received_us", "bigint"), ("via", "bigint"), ("detail", "text"),
    ("campaign_id", "text"),
)  # fmt: skip
DETAIL = 14
"""The position of the text that can be long."""
_decode_stamps = msgspec.json.Decoder(dict[str, tuple[int, int, str]]).decode
_decode_detail = msgspec.json.Decoder(dict[str, Any]).decode


def stamps_of(text: str | None) -> Stamps:
    """Decode a column of stamps; empty for NULL."""
    return {} if text is None else _decode_stamps(text)


def stamps_text(stamps: Stamps) -> str | None:
    """Encode stamps for a column; None if there are none."""
    return encode(stamps) if stamps else None


_event: Callable[..., StoredEvent] = StoredEvent


def event_of(row: Row) -> StoredEvent:
    """Return the event of an `EVENT` row."""
    return _event(*row[1:14], _decode_detail(row[14]) if row[14] != "{}" else {}, row[15])


def event_row(client: int, e: StoredEvent) -> Row:
    """Return the event's row, in the order of `EVENT`."""
    return (
        client, e.record_kind, e.record_id, e.occurred_us, e.key, e.event, e.effect, e.status, e.tool, e.channel, e.campaign,
        e.delivery_id, e.received_us, e.via, encode(e.detail) if e.detail else "{}", e.campaign_id,
    )  # fmt: skip


def link_of(row: Row) -> Link:
    """Return the link of a `LINK` row."""
    return Link((row[1], row[2], row[3]), *row[4:9])


def link_row(client: int, link: Link) -> Row:
    """Return the link's row, in the order of `LINK`."""
    return (client, *link.ref, link.id, link.record_kind, link.record_id, link.until_us, link.since_us)


def detail_text(detail: Detail) -> str:
    """Encode an event's detail as JSON."""
    return encode(detail)


REF: Columns = (("client", "bigint"), ("tool", "text"), ("object_type", "text"), ("object_id", "text"))
LINK: Columns = (
    *REF, ("id", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("until_us", "bigint"), ("since_us", "bigint"),
)  # fmt: skip
INSERT_EVENT = insert("event", EVENT, "record_kind, record_id, occurred_us, key")
REF_MATCH = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
EVENTS_OF = find("events_of", "event", EVENT, RECORD, RECORD_MATCH)
# Those that may set a status, without details that do not matter for it: of a record with thousands of events these take most of the time.
_OF_OBJECT = "t.event IN ('contact.status_changed', 'company.status_changed', 'contact.deleted', 'company.deleted')"
_DETAIL = f"CASE WHEN t.detail LIKE '%\"position\"%' OR t.detail LIKE '%\"of_absorbed\"%' OR {_OF_OBJECT} THEN t.detail ELSE '{{}}' END"
STATUS_ENTRIES_OF = Statement(
    "status_entries_of",
    RECORD,
    body=f"SELECT {names(EVENT[:DETAIL], 't.')}, {_DETAIL}, t.campaign_id FROM p CROSS JOIN event t "
    f"WHERE {RECORD_MATCH} AND (t.effect <> '' OR {_OF_OBJECT})",
)
_IS_ENTRY = f"(t.status IS NOT NULL OR t.effect = '{RESUBSCRIBE}' OR (t.via = {VIA_API} AND t.tool <> '{IMPORT}'))"
_EFFECT = f"CASE WHEN t.effect = '{STATUS}' AND t.event LIKE '%.status_changed' THEN '{CRM_STATUS}' ELSE t.effect END"
# A row without an effect is an object that a CRM deleted or merged: `STATUS_ENTRIES_OF` has what a fold needs then.
BRIEF_ENTRIES_OF = Statement(
    "brief_entries_of",
    RECORD,
    body=f"SELECT t.record_kind, t.record_id, t.occurred_us, t.received_us, t.key, {_EFFECT}, t.status, t.delivery_id IS NULL, "
    "CASE WHEN t.detail LIKE '%\"position\"%' THEN t.detail END FROM p CROSS JOIN event t "
    f"WHERE {RECORD_MATCH} AND ((t.effect <> '' AND {_IS_ENTRY}) OR t.event IN ('contact.deleted', 'company.deleted'))",
)
EVENT_COUNTS = Statement(
    "event_counts", RECORD, body=f"SELECT t.record_id, count(*) FROM p CROSS JOIN event t WHERE {RECORD_MATCH} GROUP BY t.record_id"
)
EVENT_BY_KEY = find(
    "event_by_key",
    "event",
    EVENT,
    (*RECORD, ("occurred_us", "bigint"), ("key", "text")),
    f"{RECORD_MATCH} AND t.occurred_us = p.occurred_us AND t.key = p.key",
)
DELETE_EVENT = delete("delete_event", "event", (*RECORD, ("occurred_us", "bigint"), ("key", "text")))
LINK_BY_REF = find("link_by_ref", "link", LINK, REF, REF_MATCH)
LINKS_OF = find("links_of", "link", LINK, RECORD, RECORD_MATCH)
SAVE_LINK = Statement(
    "save_link",
    LINK,
    body=f"INSERT INTO link ({names(LINK)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET record_kind = excluded.record_kind, record_id = excluded.record_id, until_us = excluded.until_us, "
    "since_us = CASE WHEN excluded.since_us = 0 AND link.record_id = excluded.record_id THEN link.since_us ELSE excluded.since_us END",
)
# A row that another record takes, or that ends at another time, was the record's until then.
_NOTE_FORMER_OWNERS = Statement(
    "note_former_owners",
    LINK,
    body="INSERT INTO former_owner (client, object_type, object_id, until_us, record_kind, record_id, since_us) "
    "SELECT t.client, t.object_type, t.object_id, t.until_us, t.record_kind, t.record_id, t.since_us FROM p CROSS JOIN link t "
    f"WHERE {REF_MATCH} AND t.until_us > 0 AND (t.record_id <> p.record_id OR t.until_us <> COALESCE(p.until_us, 0)) "
    "ON CONFLICT DO NOTHING",
)

_OTHERS = "{0}.client = p.client AND {0}.object_type = p.object_type AND {0}.object_id = p.object_id"
NOTE_MERGED_OWNERS = Statement(
    "note_merged_owners",
    (
        ("client", "bigint"), ("object_type", "text"), ("object_id", "text"), ("until_us", "bigint"), *RECORD[1:], ("since_us", "bigint"),
    ),
    body="INSERT INTO former_owner (client, object_type, object_id, until_us, record_kind, record_id, since_us) SELECT * FROM p "
    f"WHERE EXISTS (SELECT 1 FROM link l WHERE {_OTHERS.format('l')} AND l.tool = '' AND l.record_id <> p.record_id) "
    f"OR EXISTS (SELECT 1 FROM former_owner o WHERE {_OTHERS.format('o')}) "
    f"OR EXISTS (SELECT 1 FROM deleted_link d WHERE {_OTHERS.format('d')} AND d.tool = '') ON CONFLICT DO NOTHING",
)  # fmt: skip
"""Note until when records had keys that are merged, if others had these before; a merge may choose when the survivor got them."""


def save_links(rows: Sequence[Row]) -> Plan[None]:
    """Write `LINK` rows, and note who had their keys before."""
    if keys := [row for row in rows if not row[1]]:
        yield Execute(_NOTE_FORMER_OWNERS, keys)
    yield Execute(SAVE_LINK, rows)


MOVE_LINKS = Statement(
    "move_links", (*RECORD, ("to_id", "bigint")), body=f"UPDATE link t SET record_id = p.to_id FROM p WHERE {RECORD_MATCH}", by_row=True
)
DELETE_EVENTS_OF = delete("delete_events_of", "event", RECORD)


FIRST_EVENTS = 64
"""Events of a history that are read before their bytes are looked at."""


@query
def get_history(
    client: int, record_kind: int, record_id: int, limit: int | None = None, before_us: Micros | None = None, history_bytes: int = 0
) -> Plan[list[StoredEvent]]:
    """Events of one record, oldest first, by (occurred_us, key): all, or the newest `limit` of those before a time.

    With `history_bytes` the newest ones that have so many bytes, at least one, as a `Cut` if there are earlier ones.
    """
    where = Where("client = ? AND record_kind = ? AND record_id = ?", client, record_kind, record_id)
    where.less("occurred_us", before_us)
    budget = None
    if limit is None:
        rows = yield Select(f"SELECT {names(EVENT)} FROM event WHERE {where} ORDER BY occurred_us, key", where.params)
    else:
        newest = f"SELECT {names(EVENT)} FROM event WHERE {where} ORDER BY occurred_us DESC, key DESC LIMIT ?"
        budget = ByteBudget(history_bytes, (DETAIL,), FIRST_EVENTS) if history_bytes else None
        rows = yield Select(newest, (*where.params, limit), budget=budget)
    # The engines collate text differently; the projection uses Python's order.
    events = sorted((event_of(row) for row in rows), key=lambda event: (event.occurred_us, event.key))
    return Cut(events) if budget is not None and budget.is_spent else events
