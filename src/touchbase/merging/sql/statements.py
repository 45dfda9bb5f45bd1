"""Statements on merges."""

from __future__ import annotations

from touchbase.sql.builders import ONE, ONE_MATCH, find
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement, delete

MERGE_ROW: Columns = (
    *ONE, ("record_kind", "bigint"), ("record_id", "bigint"), ("merged_us", "bigint"), ("undone_us", "bigint"), ("content", "text"),
)  # fmt: skip
INSERT_MERGE = Statement("insert_merge", MERGE_ROW, body=f"INSERT INTO record_merge ({names(MERGE_ROW)}) SELECT * FROM p WHERE true")
FIND_MERGE = find("find_merge", "record_merge", MERGE_ROW, ONE, ONE_MATCH)
# Without the records as they were: erasing one of them does not find the row any more.
END_MERGE = Statement(
    "end_merge",
    (*ONE, ("undone_us", "bigint")),
    body=f"UPDATE record_merge AS t SET undone_us = p.undone_us, content = '' FROM p WHERE {ONE_MATCH}",
)
RETURN_MERGE = Statement(
    "return_merge",
    (*ONE, ("record_id", "bigint")),
    body=f"UPDATE record_merge AS t SET record_id = p.record_id FROM p WHERE {ONE_MATCH}",
)
DELETE_MERGE = delete("delete_merge", "record_merge", ONE, "id")
CONTACT_IDS_OF_COMPANY = Statement(
    "contact_ids_of_company",
    ONE,
    body="SELECT t.id FROM p CROSS JOIN contact t WHERE t.client = p.client AND t.company_id = p.id",
)
