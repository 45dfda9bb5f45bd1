"""Plans of the inbox's search. Each reads a bounded number of rows that an index finds."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.deliveries.claiming import ITS_BODY, WITH_BODY
from touchbase.deliveries.delivery import APPLIED, STATES
from touchbase.deliveries.sql.rows import DELIVERY, delivery_of
from touchbase.erasure_marks import EMAIL, LINKEDIN, erasure_key_of, find_marks
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.inbox.search_queries import DeliveryEffects, DeliveryPerson, DeliveryStep, SoughtPerson
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.cell_answers import clients_of_deliveries, divided_deliveries, union
from touchbase.sql.dialect import parameter_table
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

STEP_BYTES = 2 * 1024 * 1024
"""Bytes of bodies that one step reads, unless one body alone is larger."""
MOST_EVENTS = 100
"""Events of one delivery of which a list shows the names and people."""
_KEYS = {EMAIL: "email_key", LINKEDIN: "linkedin_key"}
_SELECT = f"SELECT c.client_id, {names(DELIVERY[:-1], 'd.')}"
_FROM = "FROM p JOIN client c ON c.id = p.client JOIN delivery d ON d.client = p.client AND d.id = p.id"
DELIVERIES_OF = Statement("found_deliveries", ROW_KEY, body=f"{_SELECT} {_FROM}")
BODIES_OF = Statement(
    "found_bodies",
    ROW_KEY,
    body=f"SELECT {WITH_BODY} {_FROM} {ITS_BODY}",
)
_EFFECTS = "few.delivery_id, few.event, few.record_kind, few.record_id, c.email, c.linkedin_url"
_ABOUT = f"LEFT JOIN contact c ON few.record_kind = {CONTACT} AND c.client = few.client AND c.id = few.record_id"
_OF_EVENT = "t.client, t.delivery_id, t.event, t.record_kind, t.record_id"
# Run for each delivery apart: the limit is its own.
EFFECTS_OF_DELIVERY = Statement(
    "effects_of_delivery",
    ROW_KEY,
    sqlite=f"SELECT {_EFFECTS} FROM (SELECT {_OF_EVENT} FROM event t WHERE t.client = ?1 AND t.delivery_id = ?2 "
    f"LIMIT {MOST_EVENTS + 1}) few {_ABOUT}",
    postgres=f"WITH {parameter_table('p', ROW_KEY)} SELECT {_EFFECTS} FROM p CROSS JOIN LATERAL (SELECT {_OF_EVENT} FROM event t "
    f"WHERE t.client = p.client AND t.delivery_id = p.id LIMIT {MOST_EVENTS + 1}) few {_ABOUT}",
)


@query
def find_sought_person(
    client: int, addresses: Sequence[Ref] = (), contact_id: int | None = None, mentioned: Sequence[Ref] = ()
) -> Plan[SoughtPerson]:
    """Find the person with one of these addresses or this contact id, also under a former one.

    `mentioned`: Addresses in the text to search for.
    """
    current_addresses = set(addresses)
    if (yield from _any_erased(client, {*current_addresses, *mentioned})):
        return SoughtPerson(erased=True)
    contacts: set[int] = set()
    if contact_id is not None:
        contacts = {contact_id} | (yield from _linked(client, ("", "contact", str(contact_id))))
    for address in addresses:
        contacts |= yield from _contacts_having(client, address)
    for contact in sorted(contacts):
        current_addresses |= yield from _addresses_of(client, contact)
    return SoughtPerson(sorted(contacts), frozenset(current_addresses))


def _any_erased(client: int, refs: set[Ref]) -> Plan[bool]:
    key = yield from erasure_key_of(client)
    if key is None:
        return False
    marks = yield from find_marks(key, client, refs)
    return any(not mark.derived for mark in marks.values())


def _contacts_having(client: int, ref: Ref) -> Plan[set[int]]:
    """Return the contacts with this address, now or formerly, and deleted ones."""
    rows = yield Select(f"SELECT id FROM contact WHERE client = ? AND {_KEYS[ref[1]]} = ?", (client, ref[2]))
    deleted = yield Select(
        "SELECT record_id FROM deleted_link WHERE client = ? AND tool = '' AND object_type = ? AND object_id = ? AND record_kind = 1",
        (client, *ref[1:]),
    )
    return {row[0] for row in (*rows, *deleted)} | (yield from _linked(client, ref))


def _linked(client: int, ref: Ref) -> Plan[set[int]]:
    rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref)])
    return {row[6] for row in rows if row[5] == CONTACT}


def _addresses_of(client: int, contact: int) -> Plan[set[Ref]]:
    """Return the present and former addresses of a contact, also of a deleted one."""
    rows = yield Select("SELECT email_key, linkedin_key FROM contact WHERE client = ? AND id = ?", (client, contact))
    refs = {("", word, key) for row in rows for word, key in zip((EMAIL, LINKEDIN), row, strict=True) if key is not None}
    links = yield Execute(history_sql.LINKS_OF, [(client, CONTACT, contact)])
    deleted = yield Select(
        "SELECT tool, object_type, object_id FROM deleted_link WHERE client = ? AND record_kind = 1 AND record_id = ?", (client, contact)
    )
    named = [*((row[1], row[2], row[3]) for row in links), *((row[0], row[1], row[2]) for row in deleted)]
    return refs | {ref for ref in named if ref[0] == "" and ref[1] in _KEYS}


@query(bodies=lambda step: step.deliveries)
def step_through_deliveries(
    client: int,
    below: int,
    limit: int,
    channel: str | None = None,
    tool: str | None = None,
    state: str | None = None,
    received_since_us: Micros | None = None,
    received_until_us: Micros | None = None,
    problems: bool = False,
    event: str | None = None,
    of_contacts: list[int] | None = None,
    not_of_contacts: list[int] | None = None,
    bodies: bool = False,
) -> Plan[DeliveryStep]:
    """Examine at most `limit` deliveries of a client with an id lower than `below`, newest first; return the matching ones.

    `event`: only deliveries with such an event. `of_contacts`: only deliveries with an event about one of these contacts.
    `not_of_contacts`: only deliveries that are not applied and have no event about these contacts. `bodies`: with headers, query and
    body, and at most some megabytes of them.
    """
    if of_contacts is None:
        source, params = _of_inbox(client, below, state, problems)
    else:
        source, params = _of_history(client, below, state, problems, event, of_contacts)
    # The conditions mark rows, so that the limit bounds the rows read.
    marks = Where()
    marks.equal("w.channel", channel)
    marks.equal("w.tool", tool)
    marks.at_least("w.received_us", received_since_us)
    marks.less("w.received_us", received_until_us)
    if event is not None and of_contacts is None:
        marks.add(f"{_CAUSED} AND e.event = ?)", event)
    if not_of_contacts is not None:
        marks.add(f"w.state <> '{APPLIED}'")
        if not_of_contacts:
            whose = f"e.record_kind = {CONTACT} AND e.record_id IN ({_places(not_of_contacts)})"
            marks.add(f"NOT {_CAUSED} AND {whose})", *not_of_contacts)
    rows = yield Select(
        f"{source} SELECT w.id, w.received_us, w.size, CASE WHEN {marks} THEN 1 ELSE 0 END FROM w ORDER BY w.id DESC",
        (*params, limit, *marks.params),
    )
    last, ids = _within(rows) if bodies else (len(rows), [row[0] for row in rows if row[3]])
    next_below = 0 if last == len(rows) < limit else rows[last - 1][0]
    matching = (yield Execute(BODIES_OF if bodies else DELIVERIES_OF, [(client, number) for number in ids])) if ids else []
    deliveries = sorted(map(delivery_of, matching), key=lambda delivery: -delivery.id)
    return DeliveryStep(deliveries, last, next_below, rows[last - 1][1] if rows else None)


_STEP = "d.client, d.id, d.channel, d.tool, d.state, d.received_us, d.size"
_CAUSED = "EXISTS (SELECT 1 FROM event e WHERE e.client = w.client AND e.delivery_id = w.id"


def _of_inbox(client: int, below: int, state: str | None, problems: bool) -> tuple[str, Row]:
    """Return the deliveries to examine: by the primary key, or the index of their state or of problems."""
    where = Where("d.client = ? AND d.id < ?", client, below)
    _indexed(where, state, problems)
    return f"WITH w AS (SELECT {_STEP} FROM delivery d WHERE {where} ORDER BY d.id DESC LIMIT ?)", where.params


def _of_history(client: int, below: int, state: str | None, problems: bool, event: str | None, contacts: list[int]) -> tuple[str, Row]:
    """Return the deliveries of the contacts' histories, to be examined."""
    caused = Where(f"e.client = ? AND e.record_kind = {CONTACT} AND e.delivery_id IS NOT NULL", client)
    caused.add(f"e.record_id IN ({_places(contacts)})", *contacts)
    caused.equal("e.event", event)
    where = Where("d.client = ? AND t.id < ?", client, below)
    _indexed(where, state, problems)
    sql = (
        f"WITH t AS (SELECT DISTINCT e.delivery_id AS id FROM event e WHERE {caused}), "
        f"w AS (SELECT {_STEP} FROM t JOIN delivery d ON d.id = t.id WHERE {where} ORDER BY d.id DESC LIMIT ?)"
    )
    return sql, (*caused.params, *where.params)


def _indexed(where: Where, state: str | None, problems: bool) -> None:
    """Add the conditions that have a partial index. A state is a literal, so that both engines use it."""
    if state in STATES:
        where.add(f"d.state = '{state}'")
    if problems:
        where.add("d.problems IS NOT NULL")


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _within(rows: Sequence[Row]) -> tuple[int, list[int]]:
    """Return how many of these rows a step takes so that their bodies fit, at least one, and the ids of the matching ones."""
    ids: list[int] = []
    total = 0
    for position, (number, _, size, matches) in enumerate(rows):
        total += size if matches else 0
        if ids and total > STEP_BYTES:
            return position, ids
        if matches:
            ids.append(number)
    return len(rows), ids


@query(clients=clients_of_deliveries, divide=divided_deliveries(union))
def get_effects(deliveries: list[tuple[int, int]]) -> Plan[dict[int, DeliveryEffects]]:
    """Get the effects of deliveries (client, id) by id; one without events is left out."""
    rows = (yield Execute(EFFECTS_OF_DELIVERY, sorted(set(deliveries)))) if deliveries else []
    by_delivery: dict[int, list[Row]] = {}
    for row in rows:
        by_delivery.setdefault(row[0], []).append(row)
    return {number: _effects(events) for number, events in by_delivery.items()}


def _effects(rows: Sequence[Row]) -> DeliveryEffects:
    shown = rows[:MOST_EVENTS]
    people = {row[3]: DeliveryPerson(row[3], row[4], row[5]) for row in shown if row[2] == CONTACT}
    return DeliveryEffects([people[number] for number in sorted(people)], sorted({row[1] for row in shown}), len(rows) > MOST_EVENTS)
