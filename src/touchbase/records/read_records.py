"""Reading contacts and companies: one by id, or a filtered page."""

from __future__ import annotations

from typing import TypeVar

from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import NotFound
from touchbase.records.commands import ListRecords
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.records.sql.reads import find_deleted, find_united
from touchbase.sql.store import Store

Cursor = tuple[Micros, int]
"""Cursor of a page: `created_us` (`updated_us` in that order) and id of its last record."""

R = TypeVar("R", Contact, Company)


async def get_record(store: Store, kind: RecordType[R], client: int, record_id: int) -> R:
    """Return one record; `NotFound` also when it is another client's, is in the bin (`data["deleted_at"]`), or was merged into another
    record (`data["existing_id"]`).
    """
    found = await store.read(kind.get(client, record_id))
    if found is not None:
        return found
    merged_into = await store.read(find_united(client, kind.kind, record_id))
    if merged_into is None:
        raise await _missing(store, kind, client, record_id)
    detail = f"there is no {kind.name} with id {record_id} any more: it was merged into {merged_into}"
    raise NotFound(detail, data={"existing_id": merged_into})


async def _missing(store: Store, kind: RecordType[R], client: int, record_id: int) -> NotFound:
    deleted_us = await store.read(find_deleted(client, kind.kind, record_id))
    if deleted_us is None:
        return NotFound(f"there is no {kind.name} with id {record_id}")
    at = to_text(deleted_us)
    detail = f"the {kind.name} with id {record_id} was deleted at {at}; to restore it: POST /public/v2/{kind.plural}/{record_id}/restore"
    return NotFound(detail, data={"deleted_at": at})


def cursor_of(query: ListRecords[R], last: R) -> Cursor:
    """Return the cursor of the page after this record."""
    return last.updated_us if query.updated_since_us is not None else last.created_us, last.id
