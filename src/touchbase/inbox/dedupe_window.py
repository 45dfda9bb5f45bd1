"""Recent calls: by which a repeat is recognised (`inbox.keep_deliveries`), and how they are forgotten."""

from __future__ import annotations

from touchbase.inbox.commands import ForgetDedupeKeys
from touchbase.inbox.queries import OldDedupeKeys
from touchbase.inbox.statements import CALL
from touchbase.sql.builders import ONE
from touchbase.sql.statement import Execute, Plan, Select, Statement

FORGET_CALL = Statement(
    "forget_call",
    (*CALL, ("before_us", "bigint")),
    sqlite="DELETE FROM dedupe_key WHERE client = ?1 AND key = ?2 AND received_us < ?3 RETURNING client",
    body="DELETE FROM dedupe_key t USING p WHERE t.client = p.client AND t.key = p.key AND t.received_us < p.before_us RETURNING t.client",
)
# Before it is cleared, because its key says which call it is. One whose bytes came again long after has left the place to the newer one.
FORGET_CLEARED = Statement(
    "forget_cleared",
    ONE,
    sqlite="DELETE FROM dedupe_key WHERE client = ?1 AND delivery_id = ?2 "
    "AND key = (SELECT key FROM delivery WHERE client = ?1 AND id = ?2 AND state <> 'received')",
    body="DELETE FROM dedupe_key t USING p JOIN delivery d ON d.client = p.client AND d.id = p.id "
    "WHERE d.state <> 'received' AND t.client = d.client AND t.key = d.key AND t.delivery_id = d.id",
)


def forget_calls(command: ForgetDedupeKeys) -> Plan[int]:
    """Forget what has not come again for long; a call that came anew meanwhile stays."""
    rows = yield Execute(FORGET_CALL, [(command.client, key, command.before_us) for key in sorted(command.keys)])
    return len(rows)


def old_calls(query: OldDedupeKeys) -> Plan[list[tuple[int, bytes]]]:
    """What may be forgotten, in the order of its place in the table: what is found together also lies together."""
    text = "SELECT client, key FROM dedupe_key WHERE (client, key) > (?, ?) AND received_us < ? ORDER BY client, key LIMIT ?"
    rows = yield Select(text, (*(query.after or (0, b"")), query.before_us, query.limit))
    return [(row[0], bytes(row[1])) for row in rows]
