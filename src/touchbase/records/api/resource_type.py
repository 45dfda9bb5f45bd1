"""The HTTP side of the record types: differences between the resources of contacts and companies.

Serializers: contacts and companies as responses show them, and their ETags.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common.compiled import compiled
from touchbase.common.timestamps import Micros
from touchbase.common.timestamps import to_text as written_out
from touchbase.history.events import NO_AUTHOR, Detail
from touchbase.http.actors import ActorNames
from touchbase.http.query_parameters import Parameter
from touchbase.http.responses import Response
from touchbase.http.schemas import encode, problems_out
from touchbase.records.api.parameters import COMPANY_FILTERS, CONTACT_FILTERS
from touchbase.records.api.schemas import (
    CompanyChange,
    CompanyPage,
    CompanyRequest,
    CompanyResponse,
    ContactChange,
    ContactPage,
    ContactRequest,
    ContactResponse,
    CustomFieldOut,
    FieldChangeOut,
    FlatCustomFields,
    NoteInTimeline,
    TaskInTimeline,
    TimelineEvent,
    TimelineMerge,
)
from touchbase.records.field_projection import MERGE, UNDONE
from touchbase.records.fields import as_shown
from touchbase.records.further_emails import all_emails
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.timelines import TimelineEntry
from touchbase.records.validation import json_value

T = TypeVar("T", bound=Struct)

# One response contains the same time several times, and so do the responses before and after it.
to_text = lru_cache(maxsize=1024)(written_out)
_BY_CREATION = attrgetter("created_us", "id")
_ETAG = re.compile(r'(W/)?"([^"]*)"')
_OURS = re.compile(r"([0-9a-f]{1,16})(?:-flat(?:-[0-9a-f]{8})?)?")


def custom_fields_out(
    fields: Sequence[CustomField], flat: bool, declared: Mapping[str, FieldType]
) -> list[CustomFieldOut] | FlatCustomFields:
    """Return custom fields, oldest first: a list, or (FLAT) an object in which declared fields have their JSON type."""
    if not fields:
        return {} if flat else []
    present = sorted([field for field in fields if field.value is not None], key=_BY_CREATION)
    if flat:
        return {field.name: json_value(field.value or "", declared.get(field.name)) for field in present}
    return [CustomFieldOut(field.id, to_text(field.updated_us), field.name, field.value or "") for field in present]


# Compiled, because a generic mapping takes twice as long and every response needs it.
def _serializer(kind: RecordType[R], response: type[T]) -> Callable[[R, bool, ClientSettings], T]:
    """Return the function that serializes a record: required texts are never null, optional members without a value are left out."""
    values = {field.name: as_shown(field, f"record.{field.column}") for field in kind.members}
    values[f"{kind.name}_custom_fields"] = "custom_fields_out(record.custom_fields, flat, types(settings))"
    members = ", ".join(values[name] for name in response.__struct_fields__)
    names: dict[str, object] = {"response": response, "text": to_text, "emails": all_emails, "custom_fields_out": custom_fields_out}
    names |= {"types": kind.field_types, "blank": "", "UNSET": UNSET}
    serializer: Callable[[R, bool, ClientSettings], T] = compiled("record, flat, settings", f"response({members})", **names)
    return serializer


contact_out = _serializer(CONTACT_TYPE, ContactResponse)
"""Return a contact in the interface's fields."""
company_out = _serializer(COMPANY_TYPE, CompanyResponse)
"""Return a company in the interface's fields."""


def etag(record: Contact | Company, flat: bool, settings: ClientSettings) -> bytes:
    """Return the ETag of one representation of a record.

    FLAT shows typed values, so its tag also changes when the client declares another type.
    """
    if not flat:
        return b'"%x"' % record.updated_us
    declared = settings.contact_fields if isinstance(record, Contact) else settings.company_fields
    typed = sorted((name, field.type) for name, field in declared.items() if field.type in ("number", "boolean"))
    if not typed:
        return b'"%x-flat"' % record.updated_us
    return b'"%x-flat-%s"' % (record.updated_us, blake2b(repr(typed).encode(), digest_size=4).hexdigest().encode())


def states_named(if_match: str) -> list[Micros] | None:
    """Return the `updated_us` values that an `If-Match` accepts; None for any. Weak tags accept nothing."""
    if if_match.strip() == "*":
        return None
    strong = [match[2] for match in _ETAG.finditer(if_match) if not match[1]]
    return [int(ours[1], 16) for tag in strong if (ours := _OURS.fullmatch(tag)) is not None]


def changes_out(entry: TimelineEntry) -> list[FieldChangeOut]:
    """Return the changes of an event of a record's history."""
    return [
        FieldChangeOut(change.field, change.value, change.previous, UNSET if change.former_name is None else change.former_name)
        for change in entry.changed
    ]


def timeline_event(
    entry: TimelineEntry,
    message_id: int | None,
    actors: ActorNames,
    note: NoteInTimeline | UnsetType = UNSET,
    task: TaskInTimeline | UnsetType = UNSET,
) -> TimelineEvent:
    """Return an event of a record's history, with the id of its message, and its note or task."""
    event = entry.event
    key_id, request_id = event.detail.get("by", NO_AUTHOR)
    return TimelineEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.tool, event.campaign, event.campaign_id,
        event.delivery_id, key_id, request_id, actors.of_event(event), changes_out(entry),
        problems_out(event.detail.get("problems", {})), message_id, _merge_out(event.detail), note, task,
    )  # fmt: skip


def _merge_out(detail: Detail) -> TimelineMerge | UnsetType:
    """Return the records that an event made one."""
    if (merge := detail.get(MERGE) or detail.get(UNDONE)) is not None:
        return TimelineMerge(merge.get("records", []), merge["id"], UNDONE in detail)
    return TimelineMerge(detail["joined"], None) if "joined" in detail else UNSET


A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


SUPPRESSED = "Touchbase-Suppressed"
"""Response header of writes: why the record must not be contacted (`do_not_contact`); absent if it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceType(Generic[A, C, R]):
    """The HTTP side of a record type."""

    type: RecordType[R]
    request: builtins.type[A]
    """Body of a creation."""
    change: builtins.type[C]
    """Body of a change."""
    response: builtins.type[msgspec.Struct]
    page: builtins.type[msgspec.Struct]
    filters: tuple[Parameter[Any], ...]
    """Filters of the list."""
    out: Callable[[R, bool, ClientSettings], msgspec.Struct]

    @property
    def path(self) -> str:
        """The path of the list."""
        return f"/public/v2/{self.type.plural}"

    def respond(self, record: R, flat: bool, settings: ClientSettings) -> Response:
        """Return the response with a record, its ETag, and after a write the reason why it must not be contacted."""
        headers = [(b"etag", etag(record, flat, settings))]
        if record.suppressed is not None:
            headers.append((SUPPRESSED.lower().encode(), record.suppressed.encode()))
        return Response(body=encode(self.out(record, flat, settings)), headers=headers)


CONTACTS: ResourceType[ContactRequest, ContactChange, Contact] = ResourceType(
    type=CONTACT_TYPE,
    request=ContactRequest,
    change=ContactChange,
    response=ContactResponse,
    page=ContactPage,
    filters=CONTACT_FILTERS,
    out=contact_out,
)
COMPANIES: ResourceType[CompanyRequest, CompanyChange, Company] = ResourceType(
    type=COMPANY_TYPE,
    request=CompanyRequest,
    change=CompanyChange,
    response=CompanyResponse,
    page=CompanyPage,
    filters=COMPANY_FILTERS,
    out=company_out,
)
