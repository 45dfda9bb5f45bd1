"""Reading contacts and companies: one by id, or a filtered page."""

from __future__ import annotations

from typing import TypeVar

from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import NotFound
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.records.sql.reads import Listing, find_deleted, find_record, find_united
from touchbase.sql.store import Store

Cursor = tuple[Micros, int]
"""Cursor of a page: `created_us` (`updated_us` in that order) and id of its last record."""

R = TypeVar("R", Contact, Company)


async def get_record(store: Store, kind: RecordType[R], client: int, record_id: int) -> R:
    """Return one record; `NotFound` also when it is another client's, is in the bin (`data["deleted_at"]`), or was merged into another
    record (`data["existing_id"]`).
    """
    record = await store.read(find_record(client, kind, record_id))
    if record is not None:
        return record
    merged_into = await store.read(find_united(client, kind.kind, record_id))
    if merged_into is None:
        raise await _missing(store, kind, client, record_id)
    detail = f"there is no {kind.name} with id {record_id} any more: it was merged into {merged_into}"
    raise NotFound(detail, data={"existing_id": merged_into})


async def _missing(store: Store, kind: RecordType[R], client: int, record_id: int) -> NotFound:
    deleted_us = await store.read(find_deleted(client, kind.kind, record_id))
    if deleted_us is None:
        return kind.missing(record_id)
    at = to_text(deleted_us)
    detail = f"the {kind.name} with id {record_id} was deleted at {at}; to restore it: POST /public/v2/{kind.plural}/{record_id}/restore"
    return NotFound(detail, data={"deleted_at": at})


def cursor_of(listing: Listing[R], last: R) -> Cursor:
    """Return the cursor of the page after this record."""
    return last.updated_us if listing.updated_since_us is not None else last.created_us, last.id
