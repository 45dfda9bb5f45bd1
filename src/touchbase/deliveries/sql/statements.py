"""Statements on deliveries and their bodies."""

from __future__ import annotations

from touchbase.audit import JOB_REQUEST
from touchbase.deliveries.delivery import DEDUPE_WINDOW
from touchbase.deliveries.sql.rows import DELIVERY
from touchbase.sql.builders import ROW_KEY, ROW_MATCH
from touchbase.sql.dialect import parameter_table
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement

# Skip scan: one index lookup per client, however many deliveries each has.
BUSY = (
    "WITH RECURSIVE busy(client) AS (SELECT min(client) FROM delivery WHERE state = 'received' UNION ALL "
    "SELECT (SELECT min(d.client) FROM delivery d WHERE d.state = 'received' AND d.client > busy.client) "
    "FROM busy WHERE busy.client IS NOT NULL)"
)
AWAY = 2**60
"""Added to `next_attempt_us` of a replayed delivery whose body is in object storage: it is claimed once the body is back."""
IS_AWAY = f"next_attempt_us > {AWAY // 2}"
BODY: Columns = (("client", "bigint"), ("id", "bigint"), ("query", "text"), ("headers", "bytea"), ("body", "bytea"))
DEDUPE_KEY: Columns = (("client", "bigint"), ("key", "bytea"))
DELIVERIES_WITH_EVENTS = Statement(
    "deliveries_with_events",
    ROW_KEY,
    body="SELECT p.id FROM p WHERE EXISTS (SELECT 1 FROM event e WHERE e.client = p.client AND e.delivery_id = p.id)",
)
# `dedupe_key` decides which webhooks are new, so that `delivery`, which is large and often updated, needs no index on keys.
# Inserted in key order, so that two batches with the same webhooks cannot deadlock.
_RECENT = (
    "INSERT INTO dedupe_key (client, key, delivery_id, received_us, duplicate_of) "
    "SELECT client, key, id, received_us, duplicate_of FROM p WHERE true{} "
    "ON CONFLICT (client, key) DO UPDATE SET delivery_id = excluded.delivery_id, received_us = excluded.received_us, "
    "duplicate_of = excluded.duplicate_of "
    f"WHERE dedupe_key.received_us < excluded.received_us - {DEDUPE_WINDOW} OR dedupe_key.delivery_id = excluded.duplicate_of"
)
_STORE_BODY = f"INSERT INTO delivery_body ({names(BODY)}) SELECT q.* FROM q"


def _store(name: str, columns: Columns) -> Statement:
    """Return the statement that stores deliveries, with these columns, and their bodies."""
    store = f"INSERT INTO delivery ({names(columns)}) SELECT {names(columns, 'p.')} FROM p"
    return Statement(
        name=name,
        columns=columns,
        more_columns=BODY,
        first_set=_RECENT.format(""),
        inserted_ids="SELECT p.id FROM p CROSS JOIN dedupe_key t WHERE t.client = p.client AND t.key = p.key AND t.delivery_id = p.id",
        sqlite_set=store,
        more_set=f"{_STORE_BODY} WHERE EXISTS (SELECT 1 FROM delivery t WHERE t.client = q.client AND t.id = q.id)",
        postgres=(
            f"WITH {parameter_table('p', columns)}, {parameter_table('q', BODY, len(columns) + 1)}, "
            f"made AS ({_RECENT.format(' ORDER BY client, key')} RETURNING client, delivery_id AS id), "
            f"kept AS ({store} JOIN made ON made.client = p.client AND made.id = p.id), "
            f"more AS ({_STORE_BODY} JOIN made ON made.client = q.client AND made.id = q.id) SELECT id FROM made"
        ),
    )


# Without traces the usual statement is no slower than before there were any.
STORE_DELIVERY = _store("keep_delivery", tuple(column for column in DELIVERY if column[0] != "trace"))
STORE_DELIVERY_TRACED = _store("keep_delivery_traced", (*(column for column in DELIVERY if column[0] != "trace"), ("trace", "text")))
# With whether equal bytes are always a repeat, and when the client's next webhook of any kind was received.
_EARLIER_DELIVERY = (
    "t.client, t.key, t.delivery_id, t.received_us, "
    "(SELECT d.dated FROM delivery d WHERE d.client = t.client AND d.id = t.delivery_id), "
    "(SELECT n.received_us FROM dedupe_key n WHERE n.client = t.client AND n.received_us >= t.received_us "
    "AND (n.received_us > t.received_us OR n.delivery_id > t.delivery_id) ORDER BY n.received_us LIMIT 1)"
)
DELIVERY_BY_KEY = Statement(
    "call_by_key",
    DEDUPE_KEY,
    body=f"SELECT {_EARLIER_DELIVERY} FROM p JOIN dedupe_key t ON t.client = p.client AND t.key = p.key",
    by_row=True,
)
COUNT_REPEAT = Statement(
    "count_repeat",
    (*ROW_KEY, ("times", "bigint")),
    body=f"UPDATE delivery t SET repeats = t.repeats + p.times FROM p WHERE {ROW_MATCH}",
    by_row=True,
)
# The condition is on the row itself: after waiting for the transaction that removes the body, another table would be read as before it.
REPLAY_DELIVERY = Statement(
    "replay_delivery",
    (*ROW_KEY, ("next_attempt_us", "bigint")),
    body="UPDATE delivery t SET state = 'received', attempts = 0, error = NULL, "
    f"next_attempt_us = CASE WHEN t.object IS NULL THEN p.next_attempt_us ELSE p.next_attempt_us + {AWAY} END FROM p "
    f"WHERE {ROW_MATCH} AND t.body_removed IS NULL RETURNING t.id",
    by_row=True,
)
# Of a mapping that holds; one that was reverted brings nothing any more.
MAPPINGS_OF = Statement(
    "mappings_of",
    ROW_KEY,
    body="SELECT m.id, c.request_id, c.actor_id FROM p CROSS JOIN mapping_delivery m CROSS JOIN change c "
    "WHERE m.client = p.client AND m.id = p.id AND c.client = m.client "
    f"AND c.request_id = '{JOB_REQUEST}' || CAST(m.job_id AS text) AND c.job_id = m.job_id AND c.state = 'open' ORDER BY m.job_id",
)
DELIVERY_ENDINGS = Statement("delivery_endings", ROW_KEY, body=f"SELECT t.id, t.state, t.error FROM p JOIN delivery t ON {ROW_MATCH}")
TARGETS_OF_DELIVERIES = Statement(
    "targets_of_deliveries",
    ROW_KEY,
    body="SELECT e.delivery_id, e.record_kind, e.record_id, count(*) FROM p JOIN event e ON e.client = p.client AND e.delivery_id = p.id "
    "GROUP BY e.delivery_id, e.record_kind, e.record_id",
)
UNPARK_DELIVERY = Statement(
    "unpark_delivery",
    (*ROW_KEY, ("applied_us", "bigint")),
    body="UPDATE delivery t SET state = 'applied', error = NULL, applied_us = p.applied_us FROM p "
    f"WHERE {ROW_MATCH} AND t.state = 'parked' AND NOT EXISTS "
    "(SELECT 1 FROM event e WHERE e.client = t.client AND e.delivery_id = t.id AND e.record_kind = 3)",
    by_row=True,
)
_IGNORED = (
    "SET state = 'ignored', error = p.error, applied_us = COALESCE(t.applied_us, p.at) FROM p "
    f"WHERE {ROW_MATCH} AND t.state IN ('applied', 'parked') "
    "AND NOT EXISTS (SELECT 1 FROM event e WHERE e.client = t.client AND e.delivery_id = t.id)"
)
IGNORE_EMPTIED = Statement("ignore_emptied", (*ROW_KEY, ("error", "text"), ("at", "bigint")), body=f"UPDATE delivery AS t {_IGNORED}")
