"""The rows that each path writes, and the plainest statements that write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.bodies import WEBHOOK
from bench.dataset import CLIENT, EVENTS
from touchbase.deliveries.sql.rows import DELIVERY
from touchbase.deliveries.sql.statements import BODY
from touchbase.history.sql import EVENT
from touchbase.records.sql.rows import CONTACT, CUSTOM_FIELD
from touchbase.sql.rows import Columns, names

FAR = 4_000_000_000
"""Our ids begin here, behind all that the service hands out."""
HEADERS = b'{"content-type":"application/json"}'
RECENT: Columns = (("client", "bigint"), ("key", "bytea"), ("delivery_id", "bigint"), ("received_us", "bigint"))
KEYS = {"contact": 2, "delivery": 2, "custom_field": 4}

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table, one for each request; where `sets` names columns they are changed, else they are new."""

    table: str
    columns: Columns
    value: Callable[[int, int, str], Values]
    """Of the request's number, how many contacts there are, and the run."""
    sets: Columns = ()


def _contact(n: int, expected: int, run: str) -> Values:
    first = {"client": CLIENT, "id": FAR + n, "created_us": n, "updated_us": n, "email": f"p{n}.{run}@example.com", "first_name": "Nora"}
    first |= {"email_key": first["email"], "linkedin_url": f"https://www.linkedin.com/in/p{n}-{run}", "linkedin_key": f"in/p{n}-{run}"}
    return first | {"last_name": "Quill", "origin": "import", "from_api": 1, "initial_status": "new", "status": "new"}


def _custom(name: str) -> Callable[[int, int, str], Values]:
    def one(n: int, expected: int, run: str) -> Values:
        own = {"client": CLIENT, "record_kind": 1, "record_id": FAR + n, "name": name, "id": FAR + n, "value": "40"}
        return own | {"updated_us": n, "priority": 1, "stamped_us": n, "stamp_key": "", "created_us": n}

    return one


def _event(n: int, expected: int, run: str) -> Values:
    own = {
        "client": CLIENT,
        "record_kind": 1,
        "record_id": n % expected + 1,
        "occurred_us": n,
        "key": f"raw:{run}{n}",
        "event": "email_sent",
    }
    own |= {"effect": "", "tool": "instantly", "channel": "email_campaign", "campaign": "Autumn roofers", "received_us": n, "via": 1}
    return own | {"detail": '{"carried":{"first_name":"Nora","last_name":"Quill"}}'}


def _applied(n: int, expected: int, run: str) -> Values:
    return _event(n, expected, run) | {"delivery_id": n % (expected * EVENTS) + 1}


def _delivery(n: int, expected: int, run: str) -> Values:
    own = {"client": CLIENT, "id": FAR + n, "channel": "email_campaign", "state": "received", "received_us": n, "attempts": 0, "repeats": 0}
    return own | {"next_attempt_us": n, "size": len(WEBHOOK.body), "key": f"{run}{n:06}".encode()}


def _call(n: int, expected: int, run: str) -> Values:
    return {"client": CLIENT, "key": f"{run}{n:06}".encode(), "delivery_id": FAR + n, "received_us": n}


def _body(n: int, expected: int, run: str) -> Values:
    return {"client": CLIENT, "id": FAR + n, "query": "", "headers": HEADERS, "body": WEBHOOK.body.encode()}


def _changed(n: int, expected: int, run: str) -> Values:
    return {"client": CLIENT, "id": n % expected + 1, "updated_us": n, "first_name": f"N{n}", "last_sent_us": n}


def _seats(n: int, expected: int, run: str) -> Values:
    return {"client": CLIENT, "record_kind": 1, "record_id": n % expected + 1, "name": "Seats", "value": str(n), "updated_us": n}


def _marked(n: int, expected: int, run: str) -> Values:
    return {"client": CLIENT, "id": n % (expected * EVENTS) + 1, "applied_us": n, "attempts": n % 7}


def _columns(of: Columns, *chosen: str) -> Columns:
    return tuple(column for column in of if column[0] in chosen)


_UPDATE = (
    Part("contact", CONTACT, _changed, _columns(CONTACT, "updated_us", "first_name")),
    Part("custom_field", CUSTOM_FIELD, _seats, _columns(CUSTOM_FIELD, "value", "updated_us")),
    Part("event", EVENT, _event),
)
PARTS: dict[str, tuple[Part, ...]] = {
    "create": (
        Part("contact", CONTACT, _contact),
        Part("custom_field", CUSTOM_FIELD, _custom("Seats")),
        Part("custom_field", CUSTOM_FIELD, _custom("Team")),
    ),
    "update": _UPDATE,
    "patch": _UPDATE,
    "webhook": (Part("dedupe_key", RECENT, _call), Part("delivery", DELIVERY, _delivery), Part("delivery_body", BODY, _body)),
    "apply": (
        Part("event", EVENT, _applied),
        Part("contact", CONTACT, _changed, _columns(CONTACT, "updated_us", "last_sent_us")),
        Part("delivery", DELIVERY, _marked, _columns(DELIVERY, "applied_us", "attempts")),
    ),
}


def _all_columns(part: Part) -> Columns:
    return (*_keys(part), *part.sets) if part.sets else part.columns


def _keys(part: Part) -> Columns:
    return _columns(part.columns, "client", "id") if KEYS[part.table] == 2 else part.columns[:4]


def rows_of(part: Part, numbers: Sequence[int], expected: int, run: str) -> list[tuple[Any, ...]]:
    """The rows for these requests."""
    columns = [name for name, _ in _all_columns(part)]
    return [tuple(map(part.value(n, expected, run).get, columns)) for n in numbers]


def sqlite_text(part: Part) -> str:
    """The statement for one row."""
    columns = _all_columns(part)
    if not part.sets:
        return f"INSERT INTO {part.table} ({names(columns)}) VALUES ({', '.join('?' * len(columns))})"
    at = {name: n for n, (name, _) in enumerate(columns, 1)}
    sets = ", ".join(f"{name} = ?{at[name]}" for name, _ in part.sets)
    return f"UPDATE {part.table} SET {sets} WHERE " + " AND ".join(f"{name} = ?{at[name]}" for name, _ in _keys(part))


def postgres_text(part: Part) -> str:
    """The statement for a whole group."""
    columns = _all_columns(part)
    arrays = f"unnest({', '.join(f'${n}::{kind}[]' for n, (_, kind) in enumerate(columns, 1))})"
    if not part.sets:
        return f"INSERT INTO {part.table} ({names(columns)}) SELECT * FROM {arrays}"
    sets = ", ".join(f"{name} = p.{name}" for name, _ in part.sets)
    match = " AND ".join(f"t.{name} = p.{name}" for name, _ in _keys(part))
    return f"UPDATE {part.table} t SET {sets} FROM {arrays} AS p({names(columns)}) WHERE {match}"
