"""Follow a client's log of events, and page through its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from touchbase.clients.models import ACTIVE, LINK_OFF
from touchbase.clients.sql.commands import locked
from touchbase.common.timestamps import Micros
from touchbase.company_links.commands import Followed, LinkedPage
from touchbase.company_links.sql.link import link_contacts
from touchbase.event_log.models import EventType
from touchbase.event_log.sql.statements import NEWEST_OF
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.last_writer_wins import CARRIED, DERIVED, stamp_of
from touchbase.history.sql import stamps_of
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.records.sql import statements as records_sql
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

KIND = "contacts.link_companies"
_STATE: Columns = (("client", "bigint"), ("mode", "text"), ("position", "bigint"), ("job_id", "bigint"))
STATE_OF = Statement(
    "company_linking_of",
    _STATE[:1],
    body=f"SELECT {names(_STATE, 't.')} FROM p CROSS JOIN company_linking t WHERE t.client = p.client",
)
SAVE_STATE = Statement(
    "save_company_linking",
    _STATE,
    body=f"INSERT INTO company_linking ({names(_STATE)}) SELECT * FROM p WHERE true ON CONFLICT (client) "
    "DO UPDATE SET mode = excluded.mode, position = excluded.position, job_id = excluded.job_id",
)
DELETE_STATE = delete("delete_company_linking", "company_linking", _STATE[:1])
FORGET_PENDING = Statement(
    "forget_pending_domain_links",
    (("client", "bigint"), ("most", "bigint")),
    sqlite="DELETE FROM pending_domain_link WHERE client = ?1 AND (record_kind, record_id) IN (SELECT record_kind, record_id "
    "FROM pending_domain_link WHERE client = ?1 ORDER BY record_kind, record_id LIMIT ?2) RETURNING record_id",
    body="DELETE FROM pending_domain_link t USING p WHERE t.client = p.client AND (t.record_kind, t.record_id) IN ("
    "SELECT s.record_kind, s.record_id FROM pending_domain_link s WHERE s.client = p.client ORDER BY s.record_kind, s.record_id "
    "LIMIT (SELECT most FROM p)) RETURNING t.record_id",
)
_CONTACT_EVENTS = ("created", "updated", "merged", "deleted", "restored", "erased")
_COMPANY_EVENTS = ("created", "updated", "merged", "restored")
FOLLOWED = [EventType(f"contact.{what}") for what in _CONTACT_EVENTS] + [EventType(f"company.{what}") for what in _COMPANY_EVENTS]
DECISIVE = {CONTACT: ('"email":', '"company_id":'), COMPANY: ('"domain":',)}
"""What the changes of an `updated` event must name for it to matter, as text of their JSON."""
# As in the index of migration 0003.
_DOMAIN = "replace(t.email_key, rtrim(t.email_key, replace(t.email_key, '@', '')), '')"
_DERIVED = f'%"company_id":{encode(DERIVED)}%'
_merged = msgspec.json.Decoder(dict[str, Any]).decode


class _State(NamedTuple):
    """How far the contacts of a client are linked."""

    mode: str
    position: int
    """The sequence up to which the log was followed."""
    job_id: int
    """The job that links the contacts from before."""


@dataclass(slots=True)
class _Subjects:
    """The records that a page of events concerns."""

    contacts: set[int] = field(default_factory=set)
    companies: set[int] = field(default_factory=set)


def _new_companies(calls: Any) -> dict[str, int]:
    return {"company": sum(call.new for call in calls)}


@command(ids=_new_companies, background=True)
def follow_changes(ids: Ids, client: int, limit: int, at: Micros, new: int = 0) -> Plan[Followed]:
    """Link the contacts that the client's newest events concern, up to `limit` events.

    For a client with the setting off it forgets, up to `limit` rows, what an earlier setting left.
    """
    current_client = yield from locked(client)
    if current_client is None or current_client.state != ACTIVE:
        return Followed()
    mode, state = current_client.settings.link_companies_by_email, (yield from _state(client))
    if mode == LINK_OFF:
        return (yield from _forget(client, limit)) if state is not None else Followed()
    newest, oldest = yield from _ends(client)
    if state is None or state.mode != mode or state.position < oldest - 1:
        return Followed(more=True, start=True)
    rows = yield from _events(client, limit, state.position, newest)
    subjects = _subjects(rows)
    waiting = yield from _waiting(client, limit, subjects.companies)
    displaced = yield from _displaced(client, limit, subjects.companies)
    numbers = [*subjects.contacts, *waiting, *displaced]
    linked = yield from link_contacts(client, mode, numbers, at, new, ids)
    if linked.wanted or limit in (len(waiting), len(displaced)):
        return Followed(linked, more=True)  # the same events again
    reached = rows[-1][0] if len(rows) == limit else newest
    yield Execute(SAVE_STATE, [(client, *state._replace(position=reached))])
    return Followed(linked, more=reached < newest)


@command(ids="job")
def start_linking(ids: Ids, client: int, at: Micros) -> Plan[None]:
    """Create the job that links the present contacts, and follow the client's events from now on, if that has not been done."""
    current_client = yield from locked(client)
    if current_client is None or current_client.settings.link_companies_by_email == LINK_OFF:
        return
    mode, state = current_client.settings.link_companies_by_email, (yield from _state(client))
    # Events after the newest one are followed, and the job sees the contacts of all up to it.
    newest, oldest = yield from _ends(client)
    if state is not None and state.mode == mode and state.position >= oldest - 1:
        return  # another process was faster
    job = yield from insert_job(Job(client, 0, KIND, QUEUED, at, at, {"mode": mode}), ids)
    yield Execute(SAVE_STATE, [(client, mode, newest, job.id)])


@command(ids=_new_companies, background=True)
def link_page(ids: Ids, client: int, job_id: int, after: int, limit: int, at: Micros, new: int = 0) -> Plan[LinkedPage]:
    """Link up to `limit` contacts after the id `after`, for the job with this id."""
    current_client = yield from locked(client)
    state = yield from _state(client)
    if current_client is None or state is None or state.job_id != job_id or current_client.settings.link_companies_by_email != state.mode:
        return LinkedPage(stopped=True)
    rows = yield Select(
        "SELECT id, company_id, stamps, created_us FROM contact WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
        (client, after, limit),
    )
    undecided = [
        number
        for number, company, stamps, current_at in rows
        if stamp_of(stamps_of(stamps), "company_id", company, current_at)[0] < CARRIED
    ]
    linked = yield from link_contacts(client, state.mode, undecided, at, new, ids)
    return LinkedPage(linked, len(rows), rows[-1][0] if len(rows) == limit else None)


def _state(client: int) -> Plan[_State | None]:
    rows = yield Execute(STATE_OF, [(client,)])
    return _State(*rows[0][1:]) if rows else None


def _ends(client: int) -> Plan[tuple[int, int]]:
    """Return the newest sequence of the client's log, and the oldest one that is stored."""
    counters = yield Execute(NEWEST_OF, [(client,)])
    newest = counters[0][1] if counters else 0
    rows = yield Select("SELECT min(sequence) FROM logged_event WHERE client = ?", (client,))
    return newest, rows[0][0] or newest + 1


def _forget(client: int, limit: int) -> Plan[Followed]:
    """Remove what is stored of a client whose contacts are not linked any more."""
    rows = yield Execute(FORGET_PENDING, [(client, limit)])
    if len(rows) == limit:
        return Followed(more=True)
    yield Execute(DELETE_STATE, [(client,)])
    return Followed()


def _events(client: int, limit: int, position: int, newest: int) -> Plan[list[Row]]:
    marks = ", ".join("?" * len(FOLLOWED))
    return (
        yield Select(
            "SELECT sequence, type, record_kind, record_id, changed, data FROM logged_event WHERE client = ? AND sequence > ? "
            f"AND sequence <= ? AND type IN ({marks}) ORDER BY sequence LIMIT ?",
            (client, position, newest, *FOLLOWED, limit),
        )
    )


def _subjects(rows: Sequence[Row]) -> _Subjects:
    """Return the contacts and companies for which something may have changed."""
    found = _Subjects()
    for _, name, kind, number, changed, data in rows:
        if name.endswith(".updated") and not any(word in changed for word in DECISIVE[kind]):
            continue
        if kind == COMPANY:
            found.companies.add(number)
            continue
        found.contacts.add(number)
        if name == EventType.CONTACT_MERGED:
            found.contacts.update(_merged(data)["merged"])
    return found


def _waiting(client: int, limit: int, companies: set[int]) -> Plan[list[int]]:
    """Return contacts that wait for a company with the domain of one of these."""
    if not companies:
        return []
    rows = yield Execute(records_sql.COMPANY_TO_SHOW, [(client, number) for number in sorted(companies)])
    if not (domains := sorted(row[4] for row in rows)):
        return []
    marks = ", ".join("?" * len(domains))
    rows = yield Select(
        f"SELECT record_id FROM pending_domain_link WHERE client = ? AND domain IN ({marks}) ORDER BY domain, record_id LIMIT ?",
        (client, *domains, limit),
    )
    return [row[0] for row in rows]


def _displaced(client: int, limit: int, companies: set[int]) -> Plan[list[int]]:
    """Return contacts that were linked to another company, which had the domain before one of these got it."""
    if not companies:
        return []
    rows = yield Select(
        f"SELECT t.id FROM company c CROSS JOIN contact t WHERE c.client = ? AND c.id IN ({', '.join('?' * len(companies))}) "
        f"AND t.client = c.client AND t.email_key IS NOT NULL AND {_DOMAIN} = c.domain AND t.company_id <> c.id AND t.stamps LIKE ? "
        "ORDER BY t.id LIMIT ?",
        (client, *sorted(companies), _DERIVED, limit),
    )
    return [row[0] for row in rows]


# Literally as in the index of migration 0012: the settings are text, and these are their only members of this form.
_MEMBER = '"link_companies_by_email":"'
_IS_ON = f"k.settings <> replace(replace(k.settings, '{_MEMBER}existing\"', ''), '{_MEMBER}create\"', '')"
_IS_CURRENT = f"replace(k.settings, '{_MEMBER}' || l.mode || '\"', '') <> k.settings"


@query(scope=ALL_CLIENTS)
def clients_to_link(limit: int, after: int = 0) -> Plan[list[int]]:
    """Active clients whose contacts may have to be linked, by number, after the number `after`."""
    rows = yield Select(
        f"SELECT k.id FROM client k WHERE k.state = 'active' AND k.id > ? AND {_IS_ON} AND NOT EXISTS ("
        "SELECT 1 FROM company_linking l LEFT JOIN event_counter c ON c.client = l.client "
        f"WHERE l.client = k.id AND l.position >= COALESCE(c.next - 1, 0) AND {_IS_CURRENT}) "
        "UNION ALL SELECT l.client FROM company_linking l JOIN client k ON k.id = l.client "
        f"WHERE k.state = 'active' AND l.client > ? AND NOT ({_IS_ON}) ORDER BY 1 LIMIT ?",
        (after, after, limit),
    )
    return [row[0] for row in rows]


@query
def count_contacts(client: int) -> Plan[int]:
    """The number of a client's contacts."""
    [(count,)] = yield Select("SELECT count(*) FROM contact WHERE client = ?", (client,))
    return int(count)
