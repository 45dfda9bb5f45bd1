"""Statements on deleted records and their identities."""

from __future__ import annotations

from touchbase.history.events import COMPANY, CONTACT
from touchbase.projection.deleted_records import DELETED_LINK
from touchbase.records.sql import statements as records_sql
from touchbase.sql.builders import RECORD, RECORD_MATCH, find
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement, delete

DELETED: Columns = (*RECORD, ("deleted_us", "bigint"), ("content", "text"))
INSERT_DELETED = Statement(
    "insert_deleted_record",
    DELETED,
    body=f"INSERT INTO deleted_record ({names(DELETED)}) SELECT * FROM p WHERE true",
)
REPLACE_DELETED = Statement(
    "replace_deleted_record",
    DELETED,
    body=f"UPDATE deleted_record AS t SET deleted_us = p.deleted_us, content = p.content FROM p WHERE {RECORD_MATCH}",
)
INSERT_DELETED_LINK = Statement(
    "insert_deleted_link",
    DELETED_LINK,
    body=f"INSERT INTO deleted_link ({names(DELETED_LINK)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
FIND_DELETED = find("find_deleted_record", "deleted_record", DELETED, RECORD, RECORD_MATCH)
DELETED_LINKS_OF = find("deleted_links_of", "deleted_link", DELETED_LINK, RECORD, RECORD_MATCH)
TAKE_DELETED = delete("take_deleted_record", "deleted_record", RECORD)
TAKE_DELETED_LINKS = delete("take_deleted_links", "deleted_link", RECORD)
DELETE_LINKS_OF = delete("delete_links_of", "link", RECORD)
BY_ID = {CONTACT: records_sql.CONTACT_BY_ID, COMPANY: records_sql.COMPANY_BY_ID}
"""Find and lock a record."""
REMOVE = {CONTACT: records_sql.DELETE_CONTACT, COMPANY: records_sql.DELETE_COMPANY}
"""Delete a record's row."""
