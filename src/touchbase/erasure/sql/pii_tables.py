"""Tables with personal data of contacts, in the order in which an erasure deletes from them.

A new table with personal data is one entry here. A test finds every table whose columns name a record and checks that it is listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchbase.conversations.answers import COUNT_OF_CONTACT, DELETE_OF_CONTACT
from touchbase.conversations.drafts import COUNT_DRAFTS, DELETE_DRAFTS
from touchbase.conversations.notifications import COUNT_NOTIFICATIONS, DELETE_NOTIFICATIONS
from touchbase.conversations.plans import COUNT_DECISION, COUNT_READS, DELETE_DECISION, DELETE_READS
from touchbase.custom_fields.uses import outdate_parts
from touchbase.event_log.sql.log import FORGET_CHANGES
from touchbase.history.events import CONTACT
from touchbase.messages.sql.plans import COUNT_OF_RECORD, DELETE_OF_RECORD
from touchbase.notes.plans import COUNT_NOTES, DELETE_NOTES
from touchbase.outgoing.sql.statements import FORGET_RESPONSES
from touchbase.projection.deleted_records import FORGET_FORMER_OWNERS
from touchbase.records.sql.distinct_pairs import COUNT_PAIRS, DELETE_PAIRS
from touchbase.records.sql.statements import DELETE_CONTACT
from touchbase.search.sql.index import forget_words
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.statement import Execute, Plan, Statement, delete
from touchbase.tasks.plans import COUNT_TASKS, DELETE_TASKS


@dataclass(frozen=True, slots=True)
class PiiTable:
    """One table: its name, the name of its rows in the summary (empty: not in it), and the statements that count and delete them for
    one contact."""

    table: str
    name: str
    count: Statement
    remove: Statement


def _by_record(table: str, name: str) -> PiiTable:
    """Return the entry of a table whose rows name their record by client, record_kind and record_id."""
    match = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"
    return PiiTable(
        table,
        name,
        Statement(f"count_{table}", RECORD, body=f"SELECT count(*) FROM p CROSS JOIN {table} t WHERE {match}"),
        delete(f"erase_{table}", table, RECORD),
    )


_ITS_LINKS = "l.client = p.client AND l.record_kind = p.record_kind AND l.record_id = p.record_id"
_SAME_OBJECT = "t.client = l.client AND t.tool = l.tool AND t.object_type = l.object_type AND t.object_id = l.object_id"
_WANTED = PiiTable(
    "fetch_queue",
    "wanted_records",
    Statement(
        "count_wanted", RECORD, body=f"SELECT count(*) FROM p CROSS JOIN link l JOIN fetch_queue t ON {_SAME_OBJECT} WHERE {_ITS_LINKS}"
    ),
    Statement(
        "erase_wanted",
        RECORD,
        sqlite="DELETE FROM fetch_queue WHERE client = ?1 AND (tool, object_type, object_id) IN "
        "(SELECT tool, object_type, object_id FROM link WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3)",
        body=f"DELETE FROM fetch_queue t USING p CROSS JOIN link l WHERE {_ITS_LINKS} AND {_SAME_OBJECT}",
    ),
)
_ATTEMPTS = Statement(
    "count_webhook_attempts",
    RECORD,
    body="SELECT count(*) FROM p CROSS JOIN logged_event e JOIN webhook_attempt t ON t.client = e.client AND t.sequence = e.sequence "
    "WHERE e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id",
)
_MESSAGES = PiiTable("message", "messages", COUNT_OF_RECORD, DELETE_OF_RECORD)
# The second word is a member of `removed` in responses.
PII_TABLES = (
    _by_record("custom_field", "custom_fields"),
    PiiTable("answer", "", COUNT_OF_CONTACT, DELETE_OF_CONTACT),  # before the messages, by which its rows are found
    _MESSAGES,  # before the events, by which its rows are found
    PiiTable("note", "notes", COUNT_NOTES, DELETE_NOTES),  # likewise
    PiiTable("task", "tasks", COUNT_TASKS, DELETE_TASKS),
    PiiTable("distinct_pair", "", COUNT_PAIRS, DELETE_PAIRS),
    PiiTable("conversation", "", COUNT_DECISION, DELETE_DECISION),
    PiiTable("conversation_read", "", COUNT_READS, DELETE_READS),
    PiiTable("notification", "", COUNT_NOTIFICATIONS, DELETE_NOTIFICATIONS),
    PiiTable("answer_draft", "", COUNT_DRAFTS, DELETE_DRAFTS),
    _by_record("event", "events"),
    _WANTED,  # before the links, by which its rows are found
    replace(_by_record("former_owner", ""), remove=FORGET_FORMER_OWNERS),  # before the links, by which merged records are found
    _by_record("link", "links"),
    _by_record("pending_company_link", "company_claims"),
    _by_record("pending_domain_link", ""),
    _by_record("idempotency_key", "kept_answers"),
    _by_record("search_pending", ""),
    _by_record("deleted_record", "deleted_records"),
    _by_record("deleted_link", "deleted_links"),
    _by_record("record_merge", "merges"),
    # Its rows stay, without values: a reader of the log must find no gap.
    replace(_by_record("logged_event", ""), remove=FORGET_CHANGES),
    PiiTable("webhook_attempt", "", _ATTEMPTS, FORGET_RESPONSES),
)
COUNT_CONTACT = Statement(
    "count_contact", ROW_KEY, body="SELECT count(*) FROM p CROSS JOIN contact t WHERE t.client = p.client AND t.id = p.id"
)


def count_all(client: int, contact: int) -> Plan[dict[str, int]]:
    """Return the number of rows of this contact in each table."""
    rows = yield Execute(COUNT_CONTACT, [(client, contact)])
    counts: dict[str, int] = {"contacts": rows[0][0]}
    for pii_table in PII_TABLES:
        if pii_table.name:
            rows = yield Execute(pii_table.count, [(client, CONTACT, contact)])
            counts[pii_table.name] = rows[0][0]
    return counts


def remove_all(client: int, contact: int) -> Plan[dict[str, int]]:
    """Delete the contact from every table; return the number of rows deleted."""
    counts = yield from count_all(client, contact)
    for pii_table in PII_TABLES:
        yield Execute(pii_table.remove, [(client, CONTACT, contact)])
    yield Execute(DELETE_CONTACT, [(client, contact)])
    yield from forget_words(client, [(CONTACT, contact)])
    yield from outdate_parts(client, [(CONTACT, contact)])  # the note of its last change is gone
    return counts
