"""Conditions on a record's row: whether it must not be contacted, for searches. Every `?` is the time of the search.

They cover what `sql/lookup.py` does, except entries that are stored as hashes: those are of erased persons, who have no record.
"""

from __future__ import annotations

from collections.abc import Callable

from touchbase.do_not_contact.addresses import MAX_PARENTS
from touchbase.do_not_contact.models import DOMAIN, EMAIL, LINKEDIN_URL
from touchbase.history.status_words import OPT_OUT_WORDS, SEPARATORS

Parent = Callable[[str], str]
"""An expression for a domain -> one for its parent domain."""


def _sqlite_parent(domain: str) -> str:
    return f"substr({domain}, instr({domain}, '.') + 1)"


def _postgres_parent(domain: str) -> str:
    return f"substring({domain} FROM strpos({domain}, '.') + 1)"


def _covering(domain: str, parent: Parent) -> list[str]:
    """Return expressions for a domain and its parents; the last ones may repeat, or be a top-level domain alone, which no entry is."""
    domains = [domain]
    for _ in range(MAX_PARENTS):
        domains.append(parent(domains[-1]))
    return domains


def _listed(kind: str, values: list[str], now: str) -> str:
    condition = f"IN ({', '.join(values)})"
    alive = f"(s.until_us IS NULL OR s.until_us > {now})"
    own = f"s.client = t.client AND s.kind = '{kind}' AND s.value {condition} AND s.reason IS NOT NULL AND {alive}"
    shared = f"s.kind = '{kind}' AND s.value {condition} AND {alive}"
    return f"EXISTS (SELECT 1 FROM suppression s WHERE {own}) OR EXISTS (SELECT 1 FROM installation_suppression s WHERE {shared})"


def _further_listed(now: str) -> str:
    """Return the condition that a former or further address of a contact is listed: a merge or a new address lifts no opt-out."""
    alive = f"(s.until_us IS NULL OR s.until_us > {now})"
    kind = f"CASE l.object_type WHEN 'email' THEN '{EMAIL}' ELSE '{LINKEDIN_URL}' END"
    links = "link l WHERE l.client = t.client AND l.record_kind = 1 AND l.record_id = t.id AND l.tool = '' "
    links += "AND l.object_type IN ('email', 'linkedin')"
    own = f"s.client = t.client AND s.kind = {kind} AND s.value = l.object_id AND s.reason IS NOT NULL AND {alive}"
    shared = f"s.kind = {kind} AND s.value = l.object_id AND {alive}"
    return (
        f"EXISTS (SELECT 1 FROM {links} AND (EXISTS (SELECT 1 FROM suppression s WHERE {own}) "
        f"OR EXISTS (SELECT 1 FROM installation_suppression s WHERE {shared})))"
    )


def plain_status(status: str) -> str:
    """Return the expression for a status as `history.status_words.is_opt_out_word` compares it."""
    text = f"lower({status})"
    for separator in SEPARATORS:
        text = f"replace({text}, '{separator}', '')"
    return text


OPT_OUTS = ", ".join(f"'{word}'" for word in sorted(OPT_OUT_WORDS))
HAS_NAMES = 'settings LIKE \'%"contact_opt_outs":["%\''
"""Whether a client's settings name further statuses that opt out (`ClientSettings.contact_opt_outs`)."""
_SQLITE_NAMES = "(SELECT 1 FROM json_each(k.settings, '$.contact_opt_outs') w WHERE w.value = t.status)"
_POSTGRES_NAMES = "(SELECT 1 FROM jsonb_array_elements_text(CAST(k.settings AS jsonb) -> 'contact_opt_outs') w WHERE w = t.status)"


def _opts_out(names: str) -> str:
    named = f"SELECT 1 FROM client k WHERE k.id = t.client AND k.{HAS_NAMES} AND EXISTS {names}"
    return f"(t.status IS NOT NULL AND ({plain_status('t.status')} IN ({OPT_OUTS}) OR EXISTS ({named})))"


def contact_condition(email_domain: str, parent: Parent, now: str, names: str) -> str:
    """Return the condition on a contact `t`: one of its addresses, the domain of the present address, or the company's domain is listed.

    Or its status opts out.
    """
    company = "(SELECT c.domain FROM company c WHERE c.client = t.client AND c.id = t.company_id)"
    domains = [*_covering(email_domain, parent), company]
    parts = [_listed(EMAIL, ["t.email_key"], now), _listed(LINKEDIN_URL, ["t.linkedin_key"], now), _listed(DOMAIN, domains, now)]
    parts += [_opts_out(names), _further_listed(now)]
    return f"({' OR '.join(parts)})"


def company_condition(parent: Parent, now: str) -> str:
    """Return the condition on a company `t`: its domain is listed."""
    return f"({_listed(DOMAIN, _covering('t.domain', parent), now)})"


CONTACT_SUPPRESSED_SQLITE = contact_condition("substr(t.email_key, instr(t.email_key, '@') + 1)", _sqlite_parent, "?", _SQLITE_NAMES)
CONTACT_SUPPRESSED_POSTGRES = contact_condition(
    "substring(t.email_key FROM '[^@]*$')", _postgres_parent, "CAST(? AS bigint)", _POSTGRES_NAMES
)
COMPANY_SUPPRESSED_SQLITE = company_condition(_sqlite_parent, "?")
COMPANY_SUPPRESSED_POSTGRES = company_condition(_postgres_parent, "CAST(? AS bigint)")
