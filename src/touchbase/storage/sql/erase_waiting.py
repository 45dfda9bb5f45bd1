"""What waits for somebody to say who it is about, when that somebody was erased: events under a link that has no record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from touchbase.domain.events import EXTERNAL
from touchbase.domain.links import Ref
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.op import Op, Plan, Row, Step, delete

DELETE_LINK = delete("delete_link", "link", sql.REF)
DELETE_WANTED = delete("delete_wanted", "fetch_queue", sql.REF)
_RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"
TOLD_BY = Op("told_by", sql.RECORD, body=f"SELECT t.delivery_id FROM p CROSS JOIN event t WHERE {_RECORD_MATCH}")


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
    rows = yield Step(sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
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
    shared = yield Step(sql.LINKS_OF, keys)
    waited.refs |= {_ref(row) for row in shared}
    told = yield Step(TOLD_BY, keys)
    waited.events = len(told)
    waited.deliveries = {row[0] for row in told if row[0] is not None}
    yield Step(sql.DELETE_EVENTS_OF, keys)
    refs = [(client, *ref) for ref in sorted(waited.refs)]
    yield Step(DELETE_WANTED, refs)  # nobody is to be asked for them any more
    yield Step(DELETE_LINK, refs)


def _ref(row: Row) -> Ref:
    return (row[1], row[2], row[3])
