"""Store refused webhooks in batches, delete all but the newest of each client, and list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.inbox.refused import ListRefusals, RefusedWebhook, StoreRefusals
from touchbase.inbox.sql.refused_bodies import store_bodies
from touchbase.sql.cell_answers import sorted_page
from touchbase.sql.filters import Where
from touchbase.sql.ids import Ids
from touchbase.sql.operation import executes
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

REFUSAL: Columns = (
    ("client", "bigint"), ("received_us", "bigint"), ("id", "bigint"), ("client_id", "text"), ("channel", "text"), ("tool", "text"),
    ("cause", "text"), ("size", "bigint"), ("calls", "bigint"), ("headers", "text"), ("body", "text"),
)  # fmt: skip
INSERT_REFUSAL = Statement(
    "insert_refusal",
    REFUSAL,
    # 0 means no client; nothing is stored for a client that is being deleted.
    body=f"INSERT INTO refusal ({names(REFUSAL)}) SELECT * FROM p WHERE "
    "CASE p.client WHEN 0 THEN '' ELSE (SELECT c.state FROM client c WHERE c.id = p.client) END <> 'deleting'",
)
TRIM_REFUSALS = Statement(
    "trim_refusals",
    (("client", "bigint"), ("most", "bigint")),
    body="DELETE FROM refusal t USING p WHERE t.client = p.client AND (t.received_us, t.id) <= "
    "(SELECT o.received_us, o.id FROM refusal o WHERE o.client = p.client ORDER BY o.received_us DESC, o.id DESC LIMIT 1 OFFSET p.most)",
    by_row=True,
)
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


def _refusal_ids(commands: Sequence[StoreRefusals]) -> Mapping[str, int]:
    return {"refusal": sum(len(command.refused) for command in commands)}


@executes(StoreRefusals, ids=_refusal_ids, batch=True, cipher=True, background=True)
def store_refusals(commands: Sequence[StoreRefusals], ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    """Store the refused webhooks of several commands."""
    yield from store_bodies([body for command in commands for body in command.bodies], cipher)
    rows = [_row(command.client, one, ids.take("refusal")) for command in commands for one in command.refused]
    if rows:
        yield Execute(INSERT_REFUSAL, rows)
        yield Execute(TRIM_REFUSALS, sorted({command.client: (command.client, command.most) for command in commands}.values()))
    return [None] * len(commands)


@executes(ListRefusals, unnamed=ALL_CLIENTS, merge=sorted_page(lambda refusal: (refusal.received_us, refusal.id), newest=True))
def list_refusals(query: ListRefusals) -> Plan[list[RefusedWebhook]]:
    """Return a page of refused webhooks."""
    where = Where()
    where.equal("r.client", query.client)
    where.equal("r.channel", query.channel)
    where.equal("r.tool", query.tool)
    where.equal("r.cause", query.cause)
    if query.before is not None:
        where.add("(r.received_us, r.id) < (?, ?)", *query.before)
    rows = yield Select(
        f"SELECT {names(REFUSAL, 'r.')}, c.client_id FROM refusal r LEFT JOIN client c ON c.id = r.client WHERE {where} "
        "ORDER BY r.received_us DESC, r.id DESC LIMIT ?",
        (*where.params, query.limit),
    )
    return [_refused(row) for row in rows]


def _row(client: int, one: RefusedWebhook, number: int) -> Row:
    headers = msgspec.json.encode(one.headers).decode()
    # The id of an existing client is read from the client's own row, because it can change.
    client_id = "" if client else one.client_id
    return (client, one.received_us, number, client_id, one.channel, one.tool, one.cause, one.size, one.calls, headers, one.body)


def _refused(row: Row) -> RefusedWebhook:
    client, at, number, client_id, channel, tool, cause, size, calls, headers, body, present_id = row
    shown = _decode_headers(headers)
    return RefusedWebhook(client, at, channel, cause, tool, size, shown, present_id or client_id, calls, body, number)
