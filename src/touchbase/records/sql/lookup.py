"""Plans that look records up by their keys, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.address_book import BOOK, OWNER_OF, find_by_key
from touchbase.records.sql.rows import contact_of
from touchbase.records.sql.same_person import names_another
from touchbase.records.sql.statements import CONTACT_TO_SHOW
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.cell_answers import FIRST, AnswerMerge, Answers
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.rows import Columns
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

Key = tuple[str, str]
"""Key column and key."""
MAX_LOOKUPS = 200_000
"""Keys times clients of one lookup in all clients."""


@dataclass(frozen=True, slots=True)
class Match:
    """A record that has a key."""

    id: int
    status: str | None
    last_sent_us: Micros | None = None
    last_reply_us: Micros | None = None
    client_id: str = ""
    """Whose it is, in a lookup in all clients."""
    email_key: str | None = None
    linkedin_key: str | None = None
    company_domain: str | None = None


_CONTACT: Columns = (
    ROW_KEY[1], ("status", "text"), ("last_sent_us", "bigint"), ("last_reply_us", "bigint"), ("email_key", "text"),
    ("linkedin_key", "text"),
)  # fmt: skip
_COMPANY: Columns = (ROW_KEY[1], ("status", "text"))
_COMPANY_ROW = 2 + len(_COMPANY)


@query(quick=True)
def find_companies(client: int, domains: list[str]) -> Plan[dict[str, int]]:
    """The ids of a client's companies with these domains, by domain; an unknown one is left out."""
    rows = yield Execute(OWNER_OF[COMPANY]["domain"], [(client, domain) for domain in domains])
    return {row[1]: row[2] for row in rows}


@query(unnamed=ALL_CLIENTS, merge=FIRST)
def find_owner(kind: int, id: int, client: int | None = None) -> Plan[int | None]:
    """The number of the client that has the record with this id, of all clients, or of the one named; None if there is no such record."""
    table = "contact" if kind == CONTACT else "company"
    where = Where("c.state <> 'deleting'")
    where.equal("c.id", client)
    rows = yield Select(f"SELECT t.client FROM client c JOIN {table} t ON t.client = c.id AND t.id = ? WHERE {where}", (id, *where.params))
    return rows[0][0] if rows else None


MOST_STATUSES = 200
"""Different statuses of a client that are looked through for other spellings of one."""


@query(quick=True)
def used_statuses(client: int, kind: int) -> Plan[list[str]]:
    """The different statuses of a client's records, up to `MOST_STATUSES`, by leaps in their index."""
    table = "contact" if kind == CONTACT else "company"
    sql = (
        f"WITH RECURSIVE s(v) AS (SELECT min(status) FROM {table} WHERE client = ? AND status IS NOT NULL UNION ALL "
        f"SELECT (SELECT min(status) FROM {table} WHERE client = ? AND status > s.v) FROM s WHERE s.v IS NOT NULL) "
        "SELECT v FROM s WHERE v IS NOT NULL LIMIT ?"
    )
    return [row[0] for row in (yield Select(sql, (client, client, MOST_STATUSES)))]


def _match(kind: int, columns: Columns, more: str = "") -> dict[str, Statement]:
    table = RECORD_TYPES[kind].name
    return {key: find_by_key(f"match_{table}_by_{key.removesuffix('_key')}", kind, key, columns, more=more) for key in BOOK[kind]}


_STATEMENTS = {
    CONTACT: _match(CONTACT, _CONTACT, ", (SELECT c.domain FROM company c WHERE c.client = t.client AND c.id = t.company_id)"),
    COMPANY: _match(COMPANY, _COMPANY),
}


@query
def match_records(client: int, kind: int, keys: list[Key]) -> Plan[Mapping[Key, Match]]:
    """The records of a client that have these keys, by key; unknown keys are left out."""
    matches: dict[Key, Match] = {}
    for column, statement in _STATEMENTS[kind].items():
        current_keys = [(client, key) for named, key in keys if named == column]
        if current_keys:
            rows = yield Execute(statement, current_keys)
            matches.update({(column, row[1]): _match_of(row) for row in rows})
    return matches


@query
def others_named(client: int, named: list[tuple[int, str, str | None]]) -> Plan[set[int]]:
    """The places of these (the id of the contact that has the profile, an address, an external id) that name another person."""
    rows = yield Execute(CONTACT_TO_SHOW, [(client, number) for number in sorted({number for number, _, _ in named})])
    contacts = {contact.id: contact for contact in map(contact_of, rows)}
    others: set[int] = set()
    for place, (number, email, external_id) in enumerate(named):
        if number in contacts and (yield from names_another(contacts[number], [email], external_id)):
            others.add(place)
    return others


def _match_of(row: Row) -> Match:
    if len(row) == _COMPANY_ROW:
        return Match(row[2], row[3])
    number, status, sent, replied, email_key, linkedin_key, company_domain = row[2:]
    return Match(number, status, sent, replied, "", email_key, linkedin_key, company_domain)


def _joined(query: Any, answers: Answers) -> Mapping[Key, list[Match]] | None:
    if any(answer is None for answer in answers.values()):
        return None
    joined: dict[Key, list[Match]] = {}
    for answer in answers.values():
        for key, matches in answer.items():
            joined.setdefault(key, []).extend(matches)
    return joined


@query(unnamed=ALL_CLIENTS, merge=AnswerMerge(_joined))
def match_everywhere(client: int | None, kind: int, keys: list[Key]) -> Plan[Mapping[Key, list[Match]] | None]:
    """The records of all clients, or of one, that have these keys, by key; None if there are too many clients for so many keys."""
    where = Where("state <> 'deleting'")
    where.equal("id", client)
    rows = yield Select(f"SELECT id, client_id FROM client WHERE {where} ORDER BY client_id", where.params)
    clients: dict[int, str] = {row[0]: row[1] for row in rows}
    if len(clients) * len(keys) > MAX_LOOKUPS:
        return None
    matches: dict[Key, list[Match]] = {}
    for column, statement in _STATEMENTS[kind].items():
        current_keys = [(current_client, key) for current_client in clients for named, key in keys if named == column]
        if current_keys:
            for row in (yield Execute(statement, current_keys)):
                match = _match_of(row)
                matches.setdefault((column, row[1]), []).append(replace(match, client_id=clients[row[0]]))
    return matches
