"""The HTTP side of the record types: what differs between the resources of contacts and companies."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.http.query_parameters import Parameter
from touchbase.http.responses import Response
from touchbase.http.schemas import encode
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
)
from touchbase.records.api.serializers import company_out, contact_out, etag
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType

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
