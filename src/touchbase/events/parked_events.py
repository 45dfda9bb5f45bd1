"""What waits for somebody to say who it is about, when that somebody was erased: events under a link that has no record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from touchbase.history import statements as history_sql
from touchbase.history.events import EXTERNAL
from touchbase.history.identity_links import Ref
from touchbase.sql.builders import RECORD
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete

DELETE_LINK = delete("delete_link", "link", history_sql.REF)
DELETE_WANTED = delete("delete_wanted", "fetch_queue", history_sql.REF)
_RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"
TOLD_BY = Statement("told_by", RECORD, body=f"SELECT t.delivery_id FROM p CROSS JOIN event t WHERE {_RECORD_MATCH}")


@dataclass(slots=True)
class Waited:
    """What went: identities that waited in the same places, the deliveries that had told it, and how much it was."""

    refs: set[Ref] = field(default_factory=set)
    deliveries: set[int] = field(default_factory=set)
    events: int = 0
    with_record: set[Ref] = field(default_factory=set)
    """Identities that lead to a record: nothing of them waits, and they are left alone."""


def erase_waiting(client: int, refs: Iterable[Ref]) -> Plan[Waited]:
    """Remove the events that wait under these identities, and the links to them."""
    waited = Waited()
    rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
    places: set[int] = set()
    for row in rows:
        if row[5] is None or row[5] == EXTERNAL:
            places.add(row[4] if row[5] is None else row[6])
            waited.refs.add(_ref(row))
        else:
            waited.with_record.add(_ref(row))
    if places:
        yield from _empty(client, sorted(places), waited)
    return waited


def _empty(client: int, places: list[int], waited: Waited) -> Plan[None]:
    keys = [(client, EXTERNAL, place) for place in places]
    shared = yield Execute(history_sql.LINKS_OF, keys)
    waited.refs |= {_ref(row) for row in shared}
    told = yield Execute(TOLD_BY, keys)
    waited.events = len(told)
    waited.deliveries = {row[0] for row in told if row[0] is not None}
    yield Execute(history_sql.DELETE_EVENTS_OF, keys)
    refs = [(client, *ref) for ref in sorted(waited.refs)]
    yield Execute(DELETE_WANTED, refs)  # nobody is to be asked for them any more
    yield Execute(DELETE_LINK, refs)


def _ref(row: Row) -> Ref:
    return (row[1], row[2], row[3])
