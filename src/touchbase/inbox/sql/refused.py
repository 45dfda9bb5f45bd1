"""Store refused webhooks in batches, delete all but the newest of each client, and list them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused_bodies import RefusedBody
from touchbase.inbox.sql.refused_bodies import store_bodies
from touchbase.sql.cell_answers import sorted_page
from touchbase.sql.filters import Where
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

MOST_STORED = 1_000
"""Refused webhooks stored for each client; the oldest are deleted."""
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


@command(ids=lambda calls: {"refusal": sum(len(call.refused) for call in calls)}, cipher=True, background=True)
def store_refusals(
    ids: Ids, cipher: Cipher, client: int, refused: list[RefusedWebhook], most: int = MOST_STORED, bodies: Sequence[RefusedBody] = ()
) -> Plan[None]:
    """Store refused webhooks of one client (or `NO_CLIENT`), and delete all but its newest `most`."""
    yield from store_bodies(bodies, cipher)
    rows = [_row(client, webhook, ids.take("refusal")) for webhook in refused]
    if rows:
        yield Execute(INSERT_REFUSAL, rows)
        yield Execute(TRIM_REFUSALS, [(client, most)])


@query(unnamed=ALL_CLIENTS, merge=sorted_page(lambda refusal: (refusal.received_us, refusal.id), newest=True))
def list_refusals(
    limit: int,
    client: int | None = None,
    channel: str | None = None,
    tool: str | None = None,
    cause: str | None = None,
    before: tuple[Micros, int] | None = None,
) -> Plan[list[RefusedWebhook]]:
    """List refused webhooks, newest first; `before`: (received_us, id) of the last one on the previous page."""
    where = Where()
    where.equal("r.client", client)
    where.equal("r.channel", channel)
    where.equal("r.tool", tool)
    where.equal("r.cause", cause)
    if before is not None:
        where.add("(r.received_us, r.id) < (?, ?)", *before)
    rows = yield Select(
        f"SELECT {names(REFUSAL, 'r.')}, c.client_id FROM refusal r LEFT JOIN client c ON c.id = r.client WHERE {where} "
        "ORDER BY r.received_us DESC, r.id DESC LIMIT ?",
        (*where.params, limit),
    )
    return [_refused(row) for row in rows]


def _row(client: int, refusal: RefusedWebhook, number: int) -> Row:
    headers = msgspec.json.encode(refusal.headers).decode()
    # The id of an existing client is read from the client's own row, because it can change.
    client_id = "" if client else refusal.client_id
    return (
        client,
        refusal.received_us,
        number,
        client_id,
        refusal.channel,
        refusal.tool,
        refusal.cause,
        refusal.size,
        refusal.calls,
        headers,
        refusal.body,
    )


def _refused(row: Row) -> RefusedWebhook:
    client, at, number, client_id, channel, tool, cause, size, calls, headers, body, present_id = row
    shown = _decode_headers(headers)
    return RefusedWebhook(client, at, channel, cause, tool, size, shown, present_id or client_id, calls, body, number)
