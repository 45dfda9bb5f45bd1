"""Columns, rows and statements of the do-not-contact lists."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import Cause, Entry
from touchbase.do_not_contact.sql.conditions import HAS_NAMES
from touchbase.sql.builders import ROW_KEY, ROW_MATCH, find, key_columns
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Row, Statement, delete

ADDRESS: Columns = (("client", "bigint"), ("kind", "text"), ("value", "text"))
_SHOWN: Columns = (
    ("reason", "text"), ("source", "text"), ("note", "text"), ("since_us", "bigint"), ("until_us", "bigint"),
)  # fmt: skip
_ORIGIN: Columns = (("tool", "text"), ("delivery_id", "bigint"))
ENTRY: Columns = (
    *ADDRESS, ("id", "bigint"), ("hashed", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), ("removed_us", "bigint"),
    *_SHOWN, *_ORIGIN,
)  # fmt: skip
CAUSE: Columns = (*ADDRESS, ("key", "text"), *_SHOWN, ("at_us", "bigint"), *_ORIGIN, ("made_by", "text"))
SHARED: Columns = (("kind", "text"), ("value", "text"), ("id", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), *_SHOWN)
_MATCH = "t.client = p.client AND t.kind = p.kind AND t.value = p.value"

# The update changes nothing: it locks the row of an existing entry, so that two transactions fold its causes one after the other.
CLAIM_ENTRY = Statement(
    "claim_suppression",
    (*ADDRESS, ("id", "bigint"), ("hashed", "bigint"), ("at_us", "bigint")),
    body="INSERT INTO suppression (client, kind, value, id, hashed, created_us, updated_us, removed_us, note) "
    "SELECT p.client, p.kind, p.value, p.id, p.hashed, p.at_us, p.at_us, 0, '' FROM p WHERE true "
    f"ON CONFLICT (client, kind, value) DO UPDATE SET hashed = excluded.hashed RETURNING {names(ENTRY)}",
)
ENTRY_BY_ID = find("suppression_by_id", "suppression", ENTRY, ROW_KEY, ROW_MATCH, lock=True)
ENTRIES_OF = Statement("suppressions_of", ADDRESS, body=f"SELECT {names(ENTRY, 't.')} FROM p CROSS JOIN suppression t WHERE {_MATCH}")
_SET = (*ADDRESS, *ENTRY[5:])
UPDATE_ENTRY = Statement(
    "update_suppression",
    _SET,
    body=f"UPDATE suppression AS t SET {', '.join(f'{name} = p.{name}' for name, _ in _SET[3:])} FROM p WHERE {_MATCH}",
)
DELETE_ENTRY = delete("delete_suppression", "suppression", ADDRESS)
CAUSES_OF = Statement(
    "suppression_causes_of", ADDRESS, body=f"SELECT {names(CAUSE, 't.')} FROM p CROSS JOIN suppression_cause t WHERE {_MATCH}"
)
# Of one event the earliest receipt counts, of requests the last one.
_REPLACES = (
    "CASE WHEN (excluded.key = '' AND excluded.at_us >= suppression_cause.at_us) "
    "OR (excluded.key <> '' AND (excluded.at_us < suppression_cause.at_us OR "
    "(excluded.at_us = suppression_cause.at_us AND excluded.delivery_id < suppression_cause.delivery_id))) "
    "THEN excluded.{0} ELSE suppression_cause.{0} END"
)
SAVE_CAUSE = Statement(
    "save_suppression_cause",
    CAUSE,
    body=f"INSERT INTO suppression_cause ({names(CAUSE)}) SELECT * FROM p WHERE true ON CONFLICT (client, kind, value, key) "
    f"DO UPDATE SET {', '.join(f'{name} = {_REPLACES.format(name)}' for name, _ in CAUSE[4:])}",
)
DELETE_CAUSE = delete("delete_suppression_cause", "suppression_cause", (*ADDRESS, ("key", "text")))
DELETE_CAUSES = delete("delete_suppression_causes", "suppression_cause", ADDRESS)

CLAIM_INSTALLATION = Statement(
    "claim_installation_suppression",
    SHARED,
    body=f"INSERT INTO installation_suppression ({names(SHARED)}) SELECT * FROM p WHERE true "
    f"ON CONFLICT (kind, value) DO UPDATE SET note = installation_suppression.note RETURNING {names(SHARED)}",
)
_SET_INSTALLATION: Columns = (("id", "bigint"), ("updated_us", "bigint"), *_SHOWN)
UPDATE_INSTALLATION = Statement(
    "update_installation_suppression",
    _SET_INSTALLATION,
    body=f"UPDATE installation_suppression AS t SET {', '.join(f'{name} = p.{name}' for name, _ in _SET_INSTALLATION[1:])} "
    "FROM p WHERE t.id = p.id",
)
DELETE_INSTALLATION = delete("delete_installation_suppression", "installation_suppression", (("id", "bigint"),), "id")

_ANY = "EXISTS (SELECT 1 FROM suppression e WHERE e.client = p.client AND {})"
_ANY_INSTALLATION = "EXISTS (SELECT 1 FROM installation_suppression e WHERE e.kind = '{}')"
LISTED_KINDS = Statement(
    "listed_kinds",
    (("client", "bigint"),),
    body="SELECT p.client, "
    + ", ".join(
        [
            *(_ANY.format(f"e.kind = '{kind}'") for kind in ("email", "domain", "linkedin_url")),
            _ANY.format("e.hashed = 1"),
            *(_ANY_INSTALLATION.format(kind) for kind in ("email", "domain", "linkedin_url")),
            f"(SELECT k.settings FROM client k WHERE k.id = p.client AND k.{HAS_NAMES})",
        ]
    )
    + " FROM p",
)
"""Which kinds of entries a client and the installation have, so that others are not looked up; and settings with names that opt out."""
_ENTRY = "t.kind, t.value, t.reason, t.since_us, t.until_us, t.id"
FIND_LISTED = Statement(
    "find_listed", ADDRESS, body=f"SELECT {_ENTRY}, t.client FROM p CROSS JOIN suppression t WHERE {_MATCH} AND t.reason IS NOT NULL"
)
FIND_LISTED_INSTALLATION = Statement(
    "find_listed_installation",
    ADDRESS[1:],
    body=f"SELECT {_ENTRY} FROM p CROSS JOIN installation_suppression t WHERE t.kind = p.kind AND t.value = p.value",
)
_PERSON = "t.client, t.id, t.status, t.email_key, t.linkedin_key, "
_PERSON += "(SELECT c.domain FROM company c WHERE c.client = t.client AND c.id = t.company_id)"
PERSON_BY_EMAIL, PERSON_BY_LINKEDIN = (
    Statement(
        f"person_by_{column}", key_columns("value"),
        body=f"SELECT p.value, {_PERSON} FROM p CROSS JOIN contact t WHERE t.client = p.client AND t.{column} = p.value",
    )
    for column in ("email_key", "linkedin_key")
)  # fmt: skip
PERSON_BY_LINK = Statement(
    "person_by_link",
    (("client", "bigint"), ("type", "text"), ("value", "text")),
    body=f"SELECT l.object_type, l.object_id, {_PERSON} FROM p CROSS JOIN link l CROSS JOIN contact t WHERE l.client = p.client "
    "AND l.tool = '' AND l.object_type = p.type AND l.object_id = p.value AND l.record_kind = 1 AND t.client = l.client "
    "AND t.id = l.record_id",
)
FURTHER_KEYS = Statement(
    "further_keys",
    ROW_KEY,
    body="SELECT l.client, l.record_id, l.object_type, l.object_id FROM p CROSS JOIN link l WHERE l.client = p.client "
    "AND l.record_kind = 1 AND l.record_id = p.id AND l.tool = '' AND l.object_type IN ('email', 'linkedin')",
)
"""Addresses that lead to a contact without being shown: its former addresses, and addresses of contacts merged into it."""
DOMAIN_OF_COMPANY = Statement(
    "domain_of_company", ROW_KEY, body=f"SELECT t.client, t.id, t.domain FROM p CROSS JOIN company t WHERE {ROW_MATCH}"
)


@dataclass(slots=True)
class EntryRow:
    """A row of a client's list: an entry, or the remains of a removed entry (`reason` is None)."""

    client: int
    kind: str
    value: str
    id: int
    hashed: int
    created_us: Micros
    updated_us: Micros
    removed_us: Micros
    reason: str | None
    source: str | None
    note: str
    since_us: Micros | None
    until_us: Micros | None
    tool: str | None
    delivery_id: int | None

    @property
    def address(self) -> tuple[str, str]:
        """Kind and stored value."""
        return self.kind, self.value

    def shows(self, cause: Cause | None) -> bool:
        """Return whether the row shows this cause already."""
        if cause is None:
            return self.reason is None
        shown = (cause.reason, cause.source, cause.note, cause.since_us, cause.until_us, cause.tool, cause.delivery_id)
        return shown == (self.reason, self.source, self.note, self.since_us, self.until_us, self.tool, self.delivery_id)

    def show(self, cause: Cause | None, now: Micros) -> None:
        """Show this cause; an entry that was removed begins again."""
        self.created_us = now if self.reason is None else self.created_us
        self.updated_us = max(now, self.updated_us + 1) if self.reason is not None else now
        if cause is None:
            self.reason = self.source = self.tool = self.since_us = self.until_us = self.delivery_id = None
            self.note = ""
            return
        self.reason, self.source, self.note, self.since_us = cause.reason, cause.source, cause.note, cause.since_us
        self.until_us, self.tool, self.delivery_id = cause.until_us, cause.tool, cause.delivery_id

    def update(self) -> Row:
        """Return the parameters of `UPDATE_ENTRY`."""
        return tuple(getattr(self, name) for name, _ in _SET)

    def entry(self) -> Entry:
        """Return the entry as it is shown; the row must have a reason."""
        assert self.reason is not None
        assert self.source is not None
        assert self.since_us is not None
        value = None if self.hashed else self.value
        return Entry(
            self.id, self.kind, value, self.reason, self.source, self.note, self.since_us, self.until_us, self.created_us, self.updated_us,
            self.tool, self.delivery_id,
        )  # fmt: skip


def cause_of(row: Row) -> Cause:
    """Return the cause of a `CAUSE` row."""
    _, _, _, key, reason, source, note, since_us, until_us, at_us, tool, delivery_id, made_by = row
    return Cause(key, reason, source, at_us, since_us, until_us, note, tool, delivery_id, made_by)


def cause_row(client: int, address: tuple[str, str], cause: Cause) -> Row:
    """Return the cause's row, in the order of `CAUSE`."""
    return (
        client, *address, cause.key, cause.reason, cause.source, cause.note, cause.since_us, cause.until_us, cause.at_us, cause.tool,
        cause.delivery_id, cause.made_by,
    )  # fmt: skip


def installation_entry(row: Row) -> Entry:
    """Return the entry of an `SHARED` row."""
    kind, value, number, created_us, updated_us, reason, source, note, since_us, until_us = row
    return Entry(number, kind, value, reason, source, note, since_us, until_us, created_us, updated_us)
