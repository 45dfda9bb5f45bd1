"""Renaming custom fields of a batch's records that still have a former name."""

from __future__ import annotations

from touchbase.projection.batch import ApplyBatch
from touchbase.records.commands import new_write_key
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.custom_values import MARK, change_values, renaming
from touchbase.records.sql.statements import CUSTOM_FIELDS_OF
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan


def rename_fields(batch: ApplyBatch, ids: Ids) -> Plan[None]:
    """Give fields that records of the batch have under a former name the present one: of events that had waited, or of restored records."""
    for kind, resolver in batch.resolvers.items():
        renamed = RECORD_TYPES[kind].field_names(batch.settings)
        numbers = {number for of, number in batch.folded if of == kind} | resolver.touched
        numbers = {number for number in numbers if number in resolver.by_id}
        if not renamed or not numbers:
            continue
        rows = yield Execute(CUSTOM_FIELDS_OF, [(batch.client, kind, number) for number in sorted(numbers)])
        contact_ids: dict[str, list[int]] = {}
        for row in rows:
            if row[3] in renamed and (row[5] is not None or MARK not in row[9]):
                contact_ids.setdefault(row[3], []).append(row[2])
        for name, ids_of_name in sorted(contact_ids.items()):
            what = renaming(name, renamed[name], batch.now_us, new_write_key())
            for number, updated_us in (yield from change_values(batch.client, kind, ids_of_name, what, ids)).items():
                resolver.by_id[number].updated_us = updated_us
