"""SQL of `touchbase verify`: all rows of a client page by page, in ranges of ids, so that a page costs a few range reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.field_limits import LARGEST_ID
from touchbase.consistency.inbox import AuditedBody, AuditedDelivery
from touchbase.deliveries.sql import rows as inbox_rows
from touchbase.do_not_contact.sql.hashing import stored_addresses
from touchbase.do_not_contact.sql.opt_outs import addresses_of, further_addresses
from touchbase.do_not_contact.sql.statements import ENTRIES_OF
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.sql import LINK_BY_REF
from touchbase.history.status import COMPLAINT, INITIAL, STATUS, UNSUBSCRIBE
from touchbase.history.status_words import PLAIN, StatusWords, is_opt_out_word
from touchbase.merging.models import parts_of
from touchbase.records.field_projection import MERGE, MERGED_FROM
from touchbase.records.models import Company, Contact, Record
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql.address_book import BOOK
from touchbase.records.sql.statements import COMPANY_EXISTS, COMPANY_TO_SHOW, CONTACT_TO_SHOW
from touchbase.records.value_sources import companies_of
from touchbase.search.words import indexed_words, rowid
from touchbase.sql import rows as sql_rows
from touchbase.sql.operation import query
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement
from touchbase.statuses.models import RENAME_JOBS

_RANGE = "client = ? AND record_kind = ? AND record_id > ? AND record_id <= ?"
_EVENTS = f"SELECT {sql_rows.names(history_sql.EVENT)} FROM event WHERE {_RANGE} ORDER BY record_id, occurred_us, key"
_CUSTOM = f"SELECT {sql_rows.names(records_rows.CUSTOM_FIELD)} FROM custom_field WHERE {_RANGE} ORDER BY record_id, name"
_DELETED = f"SELECT record_id FROM deleted_record WHERE {_RANGE}"
_LINKS = (
    f"SELECT tool, object_type, object_id, until_us, record_id FROM link WHERE {_RANGE} ORDER BY record_id, tool, object_type, object_id"
)
_LED_TO = f"SELECT DISTINCT record_id FROM link WHERE {_RANGE}"
# A record that was merged into another has a link to it; an existing record must have none.
_PART_OF_ANOTHER = (
    "SELECT l.record_id, t.id FROM link l JOIN {table} t ON t.client = l.client AND t.id = CAST(l.object_id AS bigint) "
    "WHERE l.client = ? AND l.record_kind = ? AND l.record_id > ? AND l.record_id <= ? AND l.tool = '' AND l.object_type = '{table}'"
)
_OF_TWO = (
    "SELECT l.record_id, l.object_id, t.id FROM link l JOIN {table} t ON t.client = l.client AND t.{column} = l.object_id "
    "WHERE l.client = ? AND l.record_kind = ? AND l.record_id > ? AND l.record_id <= ? AND l.tool = '' AND l.object_type = ? "
    "AND l.until_us IS NULL AND t.id <> l.record_id"
)
_MERGED_AWAY = "o.client AND l.tool = '' AND l.object_type = '{table}' AND l.object_id = CAST(o.record_id AS text)"
_FORMER_OWNERS = (
    "SELECT DISTINCT o.record_id FROM former_owner o WHERE o.client = ? AND o.record_kind = ? AND o.record_id > ? AND o.record_id <= ? "
    "AND NOT EXISTS (SELECT 1 FROM {table} t WHERE t.client = o.client AND t.id = o.record_id) "
    "AND NOT EXISTS (SELECT 1 FROM deleted_record d WHERE d.client = o.client AND d.record_kind = o.record_kind "
    f"AND d.record_id = o.record_id) AND NOT EXISTS (SELECT 1 FROM link l WHERE l.client = {_MERGED_AWAY}) "
    f"AND NOT EXISTS (SELECT 1 FROM deleted_link l WHERE l.client = {_MERGED_AWAY})"
)
_OF_NO_COMPANY = (
    "SELECT c.id, c.company_id FROM contact c WHERE c.client = ? AND c.id > ? AND c.id <= ? AND c.company_id IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM company t WHERE t.client = c.client AND t.id = c.company_id)"
)
_MERGES = (
    "SELECT id, record_id, content FROM record_merge WHERE client = ? AND record_kind = ? AND record_id > ? AND record_id <= ? "
    "AND undone_us IS NULL ORDER BY id"
)
_NOT_INDEXED = f"SELECT record_id FROM search_pending WHERE {_RANGE}"
INDEXED = Statement(
    "audited_search_words",
    (("client", "bigint"), ("record", "bigint")),
    sqlite="SELECT record, words FROM search_words WHERE record = ?2 AND ?1 > 0",
    body="SELECT t.record, array_to_string(tsvector_to_array(t.words), ' ') FROM p CROSS JOIN search_index t "
    "WHERE t.client = p.client AND t.record = p.record",
)
_PLACES = "SELECT DISTINCT record_id FROM event WHERE client = ? AND record_kind = ? AND record_id > ? ORDER BY record_id LIMIT ?"
_ALONE = "SELECT id FROM link WHERE client = ? AND record_id IS NULL AND id > ? AND id <= ?"
_WAITING = f"SELECT record_id, count(*) FROM event WHERE {_RANGE} GROUP BY record_id"
_DELIVERIES = "SELECT id, state, error, applied_us, body_removed FROM delivery WHERE client = ? AND id > ? ORDER BY id LIMIT ?"
_BODIES = (
    "SELECT d.id, d.channel, d.received_us, d.tool, d.key, d.body_removed, b.query, b.headers, b.body, d.object FROM delivery d "
    "LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE d.client = ? AND d.id > ? ORDER BY d.id LIMIT ?"
)
_CAUSED = (
    "SELECT delivery_id, record_kind, count(*) FROM event WHERE client = ? AND delivery_id > ? AND delivery_id <= ? "
    "GROUP BY delivery_id, record_kind"
)

_KINDS = ", ".join(repr(kind) for kind in RENAME_JOBS)
_RENAMING = f"SELECT id FROM job WHERE client = ? AND kind IN ({_KINDS}) AND state IN ('queued', 'running') ORDER BY id LIMIT 1"


@dataclass(slots=True)
class RecordPage:
    """Records with their whole histories, and rows of records that do not exist."""

    records: list[tuple[Contact | Company, list[StoredEvent]]]
    strays: list[tuple[str, int]]
    """`event`, `custom field`, `link` or `former owner`, and the id of the missing record."""
    astray: list[tuple[int, str, str, str]]
    """References to rows that contradict them: the record's id, field, value found, and value expected."""
    links: dict[int, list[Ref]]
    """The links to each of the records."""
    open_emails: dict[int, set[str]]
    """The e-mail addresses of each of the contacts in open rows."""
    companies: dict[Ref, int | None]
    """The companies that the histories name, by ref; None for a deleted one."""
    words: StatusWords
    """The names of the client's statuses."""
    renaming: int | None
    """The job that still gives records the new name of a status; None: no job."""
    last: int | None
    """The last id of the page; None on the last page."""


@dataclass(slots=True)
class WaitingPage:
    """Parking ids: how many events each has, and whether a link without a record leads there."""

    parked: list[tuple[int, int, bool]]
    last: int | None


@dataclass(slots=True)
class AuditedDeliveries:
    """Deliveries by id with the counts of their events, and events of deliveries that do not exist."""

    deliveries: list[AuditedDelivery]
    strays: list[tuple[int, int]]
    """The id of a missing delivery, and how many events name it."""
    last: int | None


@dataclass(slots=True)
class AuditedBodies:
    """Deliveries by id, with their bodies."""

    bodies: list[AuditedBody]
    last: int | None


@query
def audit_records(client: int, kind: int, after: int, limit: int) -> Plan[RecordPage]:
    """Records of one kind above the id `after`, in order of id, and all rows about ids up to the last of them: one snapshot."""
    is_contact = kind == CONTACT
    table, columns = ("contact", sql_rows.names(records_rows.CONTACT)) if is_contact else ("company", sql_rows.names(records_rows.COMPANY))
    sql = f"SELECT {columns} FROM {table} WHERE client = ? AND id > ? ORDER BY id LIMIT ?"
    rows = yield Select(sql, (client, after, limit))
    histories: dict[int, tuple[Contact | Company, list[StoredEvent]]] = {
        row[1]: (records_rows.contact_of(row) if is_contact else records_rows.company_of(row), []) for row in rows
    }
    last = rows[-1][1] if len(rows) == limit else None
    bounds = (client, kind, after, LARGEST_ID if last is None else last)
    strays: set[tuple[str, int]] = set()
    deleted = {row[0] for row in (yield Select(_DELETED, bounds))}
    for row in (yield Select(_EVENTS, bounds)):
        event = history_sql.event_of(row)
        if event.record_id in histories:
            histories[event.record_id][1].append(event)
        elif event.record_id not in deleted:  # the events of deleted records stay
            strays.add(("event", event.record_id))
    for row in (yield Select(_CUSTOM, bounds)):
        if row[2] in histories:
            histories[row[2]][0].custom_fields.append(records_rows.custom_field_of(row))
        else:
            strays.add(("custom field", row[2]))
    links: dict[int, list[Ref]] = {}
    open_emails: dict[int, set[str]] = {}
    for *ref, until_us, number in (yield Select(_LINKS, bounds)):
        if number in histories:
            links.setdefault(number, []).append((ref[0], ref[1], ref[2]))
            if is_contact and until_us is None and ref[:2] == ["", BOOK[CONTACT]["email_key"]]:
                open_emails.setdefault(number, set()).add(ref[2])
        else:
            strays.add(("link", number))
    strays |= {("former owner", row[0]) for row in (yield Select(_FORMER_OWNERS.format(table=table), bounds))}
    astray = yield from _astray(client, kind, table, bounds)
    astray += yield from _merged_and_present(client, kind, table, [history for _, history in histories.values()])
    astray += yield from _wrong_merges(kind, bounds, {number: history for number, (_, history) in histories.items()})
    astray += yield from _wrongly_indexed(client, kind, bounds, [record for record, _ in histories.values()])
    refs = {ref for record, history in histories.values() if is_contact for ref in companies_of(history)}
    companies = yield from _companies(client, sorted(refs))
    settings = yield from settings_of(client)
    words = PLAIN if settings is None else settings.words(kind)
    jobs = yield Select(_RENAMING, (client,))
    contradicting = [row for row in astray if row[0] in histories]
    if settings is not None and is_contact:
        contradicting += yield from _unlisted(client, [history for history in histories.values() if _has_opted_out(*history, settings)])
    renaming = jobs[0][0] if jobs else None
    return RecordPage(list(histories.values()), sorted(strays), contradicting, links, open_emails, companies, words, renaming, last)


def _has_opted_out(record: Record, history: Sequence[StoredEvent], settings: ClientSettings) -> bool:
    """Return whether a contact has a status that opts out from an event that made an entry.

    Names that the client has declared, or merged, may be older than that, and have one when they end.
    """
    if not isinstance(record, Contact) or not settings.words(CONTACT).opts_out(record.status):
        return False
    wanted = settings.suppress_on
    return any(
        (event.effect in (STATUS, INITIAL) and is_opt_out_word(event.status))
        or (event.effect == UNSUBSCRIBE and wanted.unsubscribed)
        or (event.effect == COMPLAINT and wanted.complained)
        for event in history
    )


def _unlisted(client: int, opted_out: Sequence[tuple[Record, list[StoredEvent]]]) -> Plan[list[tuple[int, str, str, str]]]:
    """Return the contacts of which no address was ever on the do-not-contact list."""
    further = yield from further_addresses((client, record.id) for record, _ in opted_out)
    addresses = {
        record.id: [*further.get((client, record.id), ()), *addresses_of(record)] for record, _ in opted_out if isinstance(record, Contact)
    }
    stored = yield from stored_addresses(client, [address for keys in addresses.values() for address in keys])
    places = sorted({(client, *place) for place, _ in stored.values()})
    rows = (yield Execute(ENTRIES_OF, places)) if places else []
    listed = {(row[1], row[2]) for row in rows}
    return [
        (number, "do-not-contact list", "without an entry", "with one, because the status opts out")
        for number, own in addresses.items()
        if own and not any(stored[address][0] in listed for address in own)
    ]


def _companies(client: int, refs: Sequence[Ref]) -> Plan[dict[Ref, int | None]]:
    """Return the companies of these refs, without objects that lead to none yet; None for a deleted company that a request named."""
    if not refs:
        return {}
    rows = yield Execute(LINK_BY_REF, [(client, *ref) for ref in refs])
    company_links: dict[Ref, int | None] = {(row[1], row[2], row[3]): row[6] for row in rows if row[5] == COMPANY and row[6] is not None}
    named = [ref for ref in refs if not ref[0] and ref not in company_links]
    there = (yield Execute(COMPANY_EXISTS, [(client, int(ref[2])) for ref in named])) if named else []
    there_ids = {str(row[1]) for row in there}
    return company_links | {ref: None for ref in named if ref[2] not in there_ids}


def _merged_and_present(
    client: int, kind: int, table: str, histories: Sequence[Sequence[StoredEvent]]
) -> Plan[list[tuple[int, str, str, str]]]:
    """Return records whose histories say that they were merged with records which exist: an undone merge leaves nothing."""
    merged = {
        (event.record_id, number)
        for history in histories
        for event in history
        for number in (*event.detail.get(MERGED_FROM, ()), *event.detail.get(MERGE, {}).get("records", ()))
    }
    places = sorted({(client, number) for _, number in merged})
    rows = (yield Execute(CONTACT_TO_SHOW if kind == CONTACT else COMPANY_TO_SHOW, places)) if places else []
    present = {row[1] for row in rows}
    return [
        (number, "history", f"with events of a merge of {table} {lost}", f"without them, because there is a {table} {lost}")
        for number, lost in sorted(merged)
        if lost in present
    ]


def _wrong_merges(kind: int, bounds: Row, histories: Mapping[int, Sequence[StoredEvent]]) -> Plan[list[tuple[int, str, str, str]]]:
    """Return merges that can be undone of which the content and the entry in the survivor's history name other records."""
    astray = list[tuple[int, str, str, str]]()
    for merge, number, content in (yield Select(_MERGES, bounds)):
        entries = [entry for event in histories.get(number, ()) if (entry := event.detail.get(MERGE)) and entry["id"] == merge]
        wanted = f"of the records {entries[0]['records']}" if entries else "absent, because the history has no such merge"
        try:
            stored = f"of the records {[part.record.id for part in parts_of(kind, content)[1]]}"
        except msgspec.MsgspecError:
            stored = "unreadable"
        if stored != wanted:
            astray.append((number, f"merge {merge}", stored, wanted))
    return astray


def _wrongly_indexed(client: int, kind: int, bounds: Row, records: Sequence[Record]) -> Plan[list[tuple[int, str, str, str]]]:
    """Return the records whose words in the full-text index are not their own; of those that wait for it nothing is known."""
    waiting = {row[0] for row in (yield Select(_NOT_INDEXED, bounds))}
    indexed = [record for record in records if record.id not in waiting]
    rows = (yield Execute(INDEXED, [(client, rowid(kind, record.id)) for record in indexed])) if indexed else []
    words = {record: {*text.split()} for record, text in rows}
    astray = list[tuple[int, str, str, str]]()
    for record in indexed:
        present, wanted = words.get(rowid(kind, record.id), set()), {*indexed_words(record).split()}
        if present != wanted:
            differing = len(present ^ wanted)
            astray.append((record.id, "full-text index", f"wrong in {differing} words", "that of its texts: change the record"))
    return astray


def _astray(client: int, kind: int, table: str, bounds: Row) -> Plan[list[tuple[int, str, str, str]]]:
    """Return links and companies of these records that contradict other rows."""
    parts = yield Select(_PART_OF_ANOTHER.format(table=table), bounds)
    differences = [(number, "link", f"of {table} {part}", f"absent, because there is a {table} {part}") for number, part in parts]
    for column, word in BOOK[kind].items():
        twice = yield Select(_OF_TWO.format(table=table, column=column), (*bounds, word))
        differences += [(number, "link", f"{word} {key}", f"closed, because {table} {holder} has it") for number, key, holder in twice]
    if kind == CONTACT:
        lost = yield Select(_OF_NO_COMPANY, (client, *bounds[2:]))
        differences += [(number, "company_id", str(company), "unset, because there is no such company") for number, company in lost]
    return sorted(differences)


@query
def audit_waiting(client: int, after: int, limit: int) -> Plan[WaitingPage]:
    """Parking ids above `after` of one client."""
    rows = yield Select(_PLACES, (client, EXTERNAL, after, limit))
    if not rows:
        return WaitingPage([], None)
    last = rows[-1][0]
    bounds = (client, EXTERNAL, after, last)
    alone = yield Select(_ALONE, (client, after, last))
    together = yield Select(_LED_TO, bounds)
    led_to = {row[0] for row in (*alone, *together)}
    counted = yield Select(_WAITING, bounds)
    parked = sorted((parking_id, count, parking_id in led_to) for parking_id, count in counted)
    return WaitingPage(parked, last if len(rows) == limit else None)


@query
def audit_deliveries(client: int, after: int, limit: int) -> Plan[AuditedDeliveries]:
    """Deliveries of one client above the id `after`, in order of id."""
    rows = yield Select(_DELIVERIES, (client, after, limit))
    last = rows[-1][0] if len(rows) == limit else None
    events: Counter[int] = Counter()
    waits: Counter[int] = Counter()
    for number, kind, count in (yield Select(_CAUSED, (client, after, LARGEST_ID if last is None else last))):
        events[number] += count
        waits[number] += count if kind == EXTERNAL else 0
    deliveries = [AuditedDelivery(row[0], row[1], row[2], row[3], row[4], events[row[0]], waits[row[0]]) for row in rows]
    strays = sorted((number, events[number]) for number in events.keys() - {row[0] for row in rows})
    return AuditedDeliveries(deliveries, strays, last)


@query(bodies=lambda page: page.bodies)
def audit_bodies(client: int, after: int, limit: int) -> Plan[AuditedBodies]:
    """Deliveries of one client above the id `after` with their bodies, in order of id."""
    rows = yield Select(_BODIES, (client, after, limit))
    bodies = [
        AuditedBody(client, row[0], row[1], row[2], row[3], bytes(row[4]), row[6] or "", _headers(row[7]), row[8], row[5], row[9])
        for row in rows
    ]
    return AuditedBodies(bodies, rows[-1][0] if len(rows) == limit else None)


def _headers(text: bytes | None) -> dict[str, str]:
    """Decode the headers; empty if they are broken, so that the body does not agree with its key."""
    with suppress(ValueError):
        return inbox_rows.headers_of(text)
    return {}
