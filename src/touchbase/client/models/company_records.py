"""Types of company_records. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import NotRequired, TypedDict

from touchbase.client.models.records import CustomFieldChange, CustomFieldInput, CustomFieldOut



class CompanyChange(TypedDict):
    """A JSON merge patch over a company: an absent field stays, null or blank unsets it."""

    domain: NotRequired[str]
    name: NotRequired[str | None]
    company_status: NotRequired[str | None]
    external_id: NotRequired[str | None]
    company_custom_fields: NotRequired[list[CustomFieldChange] | None]
    company_custom_fields_input: NotRequired[list[CustomFieldChange] | None]


class CompanyOfClient(TypedDict):
    """A company, and the client that it belongs to."""

    id: int
    updated_time: str
    domain: str
    previous_status: str | None
    status_changed_at: str | None
    company_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    name: NotRequired[str]
    company_status: NotRequired[str]
    external_id: NotRequired[str]
    client_id: str


class CompanyRequest(TypedDict):
    """A new company (interface 2.3)."""

    domain: str
    name: NotRequired[str]
    company_status: NotRequired[str]
    external_id: NotRequired[str | None]
    company_custom_fields: NotRequired[list[CustomFieldInput]]
    company_custom_fields_input: NotRequired[list[CustomFieldInput]]


class CompanyResponse(TypedDict):
    """A company (interface 2.4)."""

    id: int
    updated_time: str
    domain: str
    previous_status: str | None
    status_changed_at: str | None
    company_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    name: NotRequired[str]
    company_status: NotRequired[str]
    external_id: NotRequired[str]


class NumberedCompanies(TypedDict):
    """A numbered page of companies."""

    count: int
    total_pages: int
    current_page: int
    page_size: int
    results: list[CompanyResponse]
