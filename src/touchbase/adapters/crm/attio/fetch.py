"""Attio: fetching people and companies, one per request.

Reference: docs.attio.com, get a person record (read 2026-11-20). Every value is a list of entries with their start
time; the latest start time is when the record changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from touchbase.adapters.kit.crm import COMPANY, CONTACT, UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path, single_record
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email_addresses",), first_name=("first_name",), last_name=("last_name",), full_name=("full_name",),
        linkedin=("linkedin",), employer=("company",), employer_type="companies", useful=("job_title",),
    ),
    COMPANY: RecordShape(COMPANY, domain=("domains",), company=("name",), useful=("employee_range",)),
}  # fmt: skip
_OBJECTS = ("people", "companies")
# Email and meeting data that Attio maintains itself is no change of the record.
_NOT_CHANGES = ("interaction",)


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in _OBJECTS:
        return None
    return target.get(build_path("v2", "objects", target.word, "records", target.ids[0]), target.bearer())


FETCHER = ApiFetcher("https://api.attio.com", 1, 300, _make, single_record)


def is_record(body: Body) -> bool:
    """Return whether a body is a record in the API's format."""
    return isinstance(body.get("values"), dict) and isinstance(dig(body, "id", "record_id"), str)


def object_of(record: Body) -> str | None:
    """Return the object of a record, which does not name it, by attributes that only one object has."""
    values = as_dict(record.get("values"))
    return "people" if "email_addresses" in values else "companies" if "domains" in values else None


def read_record(body: Body, kind: str, word: str, statuses: tuple[str, ...], source: str | None) -> list[Event]:
    """Read one record; a status comes with its start time."""
    values = as_dict(body.get("values"))
    times = {name: _since(entries) for name, entries in values.items()}
    at = max((time for time in (*times.values(), parse_time(body.get("created_at"))) if time is not None), default=None)
    object_id = text(dig(body, "id", "record_id"))
    item = CrmItem(SHAPES[kind], UPDATED, word, object_id, source, at, record=dict(_flat(values)), status=statuses)
    item.status_at = {name: times.get(name) for name in statuses}
    return item.events()


def _flat(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, entries in values.items():
        entry = as_dict(next(iter(as_list(entries)), None))
        if entry.get("attribute_type") == "personal-name":
            yield from ((part, entry.get(part)) for part in ("first_name", "last_name", "full_name"))
        elif name in ("email_addresses", "domains") or entry.get("attribute_type") == "record-reference":
            yield name, entries
        else:
            texts = [dig(entry, "status", "title") or dig(entry, "option", "title") or first(entry, "value") for entry in as_list(entries)]
            yield name, texts if len(texts) > 1 else next(iter(texts), None)


def _since(entries: object) -> Micros | None:
    times = [
        parse_time(as_dict(entry).get("active_from")) for entry in as_list(entries) if dig(entry, "attribute_type") not in _NOT_CHANGES
    ]
    return max((at for at in times if at is not None), default=None)
