"""Drafts of answers: what a person is writing to a contact, stored so that any browser of the person goes on with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound
from touchbase.history.events import CONTACT
from touchbase.records.sql.statements import lock_existing
from touchbase.sql.builders import RECORD
from touchbase.sql.cell_answers import CONCATENATED, Division, concatenated, divide_clients, named_clients
from touchbase.sql.filters import among
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Select, Statement

_DRAFT: Columns = (
    ("client", "bigint"), ("contact_id", "bigint"), ("user_id", "text"), ("text", "text"), ("updated_us", "bigint"),
)  # fmt: skip
_OF_CONTACT = "t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1"
STORE_DRAFT = Statement(
    "store_draft",
    _DRAFT,
    body="INSERT INTO answer_draft (client, contact_id, user_id, text, updated_us) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, contact_id, user_id) DO UPDATE SET text = excluded.text, updated_us = excluded.updated_us",
)
REMOVE_DRAFT = Statement(
    "remove_draft",
    _DRAFT[:3],
    body="DELETE FROM answer_draft t USING p WHERE t.client = p.client AND t.contact_id = p.contact_id AND t.user_id = p.user_id",
    by_row=True,
)
DELETE_DRAFTS = Statement(
    "delete_drafts",
    RECORD,
    sqlite="DELETE FROM answer_draft WHERE client = ?1 AND contact_id = ?3 AND ?2 = 1",
    body=f"DELETE FROM answer_draft t USING p WHERE {_OF_CONTACT}",
)
COUNT_DRAFTS = Statement("count_drafts", RECORD, body=f"SELECT count(*) FROM p CROSS JOIN answer_draft t WHERE {_OF_CONTACT}")

MOST_WRITERS = 200
"""People whom one look names as writing: more answers than that are not seen being written."""


@dataclass(frozen=True, slots=True)
class AnswerDraft:
    """A text that is not sent."""

    text: str
    updated_us: Micros


@command
def store_draft(client: int, contact_id: int, user_id: str, text: str, at: Micros) -> Plan[NotFound | None]:
    """Store the draft of a person, or remove it with an empty text. `NotFound` without the contact."""
    # The lock blocks merges, deletions and erasures of the contact.
    yield from lock_existing(client, CONTACT, [contact_id])
    if text:
        yield Execute(STORE_DRAFT, [(client, contact_id, user_id, text, at)])
    else:
        yield Execute(REMOVE_DRAFT, [(client, contact_id, user_id)])
    return None


@query
def find_draft(client: int, contact_id: int, user_id: str) -> Plan[AnswerDraft | None]:
    """The draft of a person to a contact."""
    rows = yield Select(
        "SELECT text, updated_us FROM answer_draft WHERE client = ? AND contact_id = ? AND user_id = ?", (client, contact_id, user_id)
    )
    return AnswerDraft(*rows[0]) if rows else None


class Writer(NamedTuple):
    """Somebody who writes an answer."""

    client: int
    contact_id: int
    user_id: str


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, concatenated, partial=True), merge=CONCATENATED)
def list_writers(clients: Sequence[int] | None, since_us: Micros) -> Plan[list[Writer]]:
    """Return whose drafts of answers to contacts of these clients changed since a time; None: of all clients."""
    if clients == []:
        return []
    condition, numbers = ("IS NOT NULL", ()) if clients is None else among(clients)
    sql = (
        f"SELECT d.client, d.contact_id, d.user_id FROM answer_draft d WHERE d.updated_us > ? AND d.client {condition} LIMIT {MOST_WRITERS}"
    )
    return [Writer(*row) for row in (yield Select(sql, (since_us, *numbers)))]
