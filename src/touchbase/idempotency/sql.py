"""Answers kept for idempotency keys: their statements, looking for them, and taking them away."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.idempotency.commands import DeleteResponses, ExpiredResponses, FindResponse
from touchbase.idempotency.models import LIFETIME, KnownResponse, RequestKey, StoredResponse
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

KEPT_ANSWER: Columns = (
    ("client", "bigint"), ("key", "text"), ("fingerprint", "bytea"), ("record_kind", "bigint"), ("record_id", "bigint"),
    ("created_us", "bigint"), ("expires_us", "bigint"), ("response", "bytea"),
)  # fmt: skip
_KEY_AT: Columns = (("client", "bigint"), ("key", "text"), ("now_us", "bigint"))
_FOUND: Columns = tuple(column for column in KEPT_ANSWER if not column[0].endswith("_us"))
_THEN = ", ".join(f"{name} = excluded.{name}" for name, _ in KEPT_ANSWER[2:])

FIND_ANSWER = Statement(
    "find_answer",
    _KEY_AT,
    body=f"SELECT {names(_FOUND, 't.')} FROM p CROSS JOIN idempotency_key t "
    "WHERE t.client = p.client AND t.key = p.key AND t.expires_us > p.now_us",
)
# Answers nothing for a key that somebody else has used since we looked.
KEEP_ANSWER = Statement(
    "keep_answer",
    KEPT_ANSWER,
    body=f"INSERT INTO idempotency_key ({names(KEPT_ANSWER)}) SELECT * FROM p WHERE true "
    f"ON CONFLICT (client, key) DO UPDATE SET {_THEN} WHERE idempotency_key.expires_us <= excluded.created_us RETURNING client",
)
FORGET_ANSWER = Statement(
    "forget_answer",
    _KEY_AT,
    sqlite="DELETE FROM idempotency_key WHERE client = ?1 AND key = ?2 AND expires_us <= ?3 RETURNING client",
    body="DELETE FROM idempotency_key t USING p WHERE t.client = p.client AND t.key = p.key AND t.expires_us <= p.now_us "
    "RETURNING t.client",
)
# Where two records turn out to be one, the answers about the one that goes are about the one that stays.
MOVE_ANSWERS = Statement(
    "move_answers",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("to_id", "bigint")),
    sqlite="UPDATE idempotency_key SET record_id = ?4 WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3",
    body="UPDATE idempotency_key t SET record_id = p.to_id FROM p "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id",
)


def answer_row(request: RequestKey, kept: StoredResponse) -> Row:
    """The answer's row, in the order of `KEPT_ANSWER`."""
    return (
        request.client, request.key, request.fingerprint, kept.record_kind, kept.record_id, request.at, request.at + LIFETIME, kept.answer,
    )  # fmt: skip


def known_answers(requests: Sequence[RequestKey]) -> Plan[dict[tuple[int, str], KnownResponse]]:
    """What is kept for these requests' keys, by client and key."""
    rows = yield Execute(FIND_ANSWER, list({(r.client, r.key): (r.client, r.key, r.at) for r in requests}.values()))
    return {(row[0], row[1]): KnownResponse(row[2], StoredResponse(row[5], row[3], row[4])) for row in rows}


def find(query: FindResponse) -> Plan[KnownResponse | None]:
    """What is kept for one request's key."""
    known = yield from known_answers([query.request])
    return known.get((query.request.client, query.request.key))


def expired(query: ExpiredResponses) -> Plan[list[tuple[int, str]]]:
    """Whose time is over."""
    sql = "SELECT client, key FROM idempotency_key WHERE expires_us <= ? ORDER BY expires_us LIMIT ?"
    rows = yield Select(sql, (query.now_us, query.limit))
    return [(row[0], row[1]) for row in rows]


def forget_answers(command: DeleteResponses) -> Plan[int]:
    """Take away what is out of date; a key that was used anew meanwhile stays."""
    rows = yield Execute(FORGET_ANSWER, [(command.client, key, command.now_us) for key in sorted(command.keys)])
    return len(rows)
