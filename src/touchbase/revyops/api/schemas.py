"""Bodies of the calls of the RevyOps API that Touchbase's own routes do not have."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.http.schemas import EXAMPLES, example
from touchbase.records.api.schemas import CompanyResponse, ContactResponse, FieldName, Value
from touchbase.search.api.all_clients import CompanyOfClient, ContactOfClient

Total = Annotated[
    int, Meta(description="Records that match: counted with the first page, and corrected by the pages that were read since.")
]


class NumberedContacts(Struct):
    """A numbered page of contacts."""

    count: Total
    total_pages: int
    current_page: int
    page_size: int
    results: list[ContactResponse]


class NumberedCompanies(Struct):
    """A numbered page of companies."""

    count: Total
    total_pages: int
    current_page: int
    page_size: int
    results: list[CompanyResponse]


class NumberedContactsOfClients(Struct):
    """A numbered page of the contacts of all clients."""

    count: Total
    total_pages: int
    current_page: int
    page_size: int
    results: list[ContactOfClient]


class NumberedCompaniesOfClients(Struct):
    """A numbered page of the companies of all clients."""

    count: Total
    total_pages: int
    current_page: int
    page_size: int
    results: list[CompanyOfClient]


class CustomFieldValue(Struct):
    """A new value of a custom field. A name, if it is given, must be the field's."""

    field_value: Value
    field_name: FieldName | UnsetType = UNSET


NUMBERED_PAGES: dict[str, type[Struct]] = {"contact": NumberedContacts, "company": NumberedCompanies}
"""The numbered page, by type of record."""
NUMBERED_OF_CLIENTS: dict[str, type[Struct]] = {"contact": NumberedContactsOfClients, "company": NumberedCompaniesOfClients}
_PAGE: dict[str, Any] = {"count": 1, "total_pages": 1, "current_page": 1, "page_size": 100}
for _page, _record in (
    (NumberedContacts, ContactResponse),
    (NumberedCompanies, CompanyResponse),
    (NumberedContactsOfClients, ContactOfClient),
    (NumberedCompaniesOfClients, CompanyOfClient),
):
    example(_page, {**_PAGE, "results": [EXAMPLES[_record.__name__]]})
example(CustomFieldValue, {"field_value": "41"})
