"""Plans that look records up by their keys, many at once."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.records.commands import FindCompanies
from touchbase.records.match import MAX_LOOKUPS, Key, Match, MatchEverywhere, MatchRecords
from touchbase.sql.builders import ONE, find, key_columns
from touchbase.sql.filters import Where
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Select, Statement

_CONTACT: Columns = (ONE[1], ("status", "text"), ("last_sent_us", "bigint"), ("last_reply_us", "bigint"))
_COMPANY: Columns = (ONE[1], ("status", "text"))
_EMAIL, _LINKEDIN, _DOMAIN = "email_key", "linkedin_key", "domain"

_COMPANY_ID = find(
    "company_id_by_domain",
    "company",
    (*key_columns("domain"), ONE[1]),
    key_columns("domain"),
    "t.client = p.client AND t.domain = p.domain",
)


def find_companies(query: FindCompanies) -> Plan[dict[str, int]]:
    """Return the ids of companies by domain."""
    rows = yield Execute(_COMPANY_ID, [(query.client, domain) for domain in query.domains])
    return {row[1]: row[2] for row in rows}


def _match(table: str, column: str, shown: Columns) -> Statement:
    match = f"t.client = p.client AND t.{column} = p.{column}"
    return find(f"match_{table}_by_{column}", table, (*key_columns(column), *shown), key_columns(column), match)


MATCH_CONTACT_BY_EMAIL = _match("contact", _EMAIL, _CONTACT)
MATCH_CONTACT_BY_LINKEDIN = _match("contact", _LINKEDIN, _CONTACT)
MATCH_COMPANY_BY_DOMAIN = _match("company", _DOMAIN, _COMPANY)
_STATEMENTS = {_EMAIL: MATCH_CONTACT_BY_EMAIL, _LINKEDIN: MATCH_CONTACT_BY_LINKEDIN, _DOMAIN: MATCH_COMPANY_BY_DOMAIN}


def match_records(query: MatchRecords) -> Plan[Mapping[Key, Match]]:
    """Return the client's records that have these keys: one statement for each kind of key."""
    found: dict[Key, Match] = {}
    for column, statement in _STATEMENTS.items():
        keys = [(query.client, key) for named, key in query.keys if named == column]
        if keys:
            rows = yield Execute(statement, keys)
            found.update({(column, row[1]): Match(*row[2:]) for row in rows})
    return found


def match_everywhere(query: MatchEverywhere) -> Plan[Mapping[Key, list[Match]] | None]:
    """Return the records that have these keys, each client's through its own index."""
    where = Where("state <> 'deleting'")
    where.equal("id", query.client)
    rows = yield Select(f"SELECT id, client_id FROM client WHERE {where} ORDER BY client_id", where.params)
    clients: dict[int, str] = {row[0]: row[1] for row in rows}
    if len(clients) * len(query.keys) > MAX_LOOKUPS:
        return None
    found: dict[Key, list[Match]] = {}
    for column, statement in _STATEMENTS.items():
        keys = [(client, key) for client in clients for named, key in query.keys if named == column]
        if keys:
            for row in (yield Execute(statement, keys)):
                sent, replied = row[4:6] if len(row) > 4 else (None, None)
                found.setdefault((column, row[1]), []).append(Match(row[2], row[3], sent, replied, clients[row[0]]))
    return found
