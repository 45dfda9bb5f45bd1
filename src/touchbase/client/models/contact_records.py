"""Types of contact_records. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import NotRequired, TypedDict

from touchbase.client.models.records import CustomFieldChange, CustomFieldInput, CustomFieldOut



class ContactChange(TypedDict):
    """A JSON merge patch over a contact: an absent field stays, null or blank unsets it."""

    email: NotRequired[str | None]
    linkedin_url: NotRequired[str | None]
    first_name: NotRequired[str | None]
    last_name: NotRequired[str | None]
    company_id: NotRequired[int | str | None]
    contact_custom_fields_input: NotRequired[list[CustomFieldChange] | None]
    contact_custom_fields: NotRequired[list[CustomFieldChange] | None]
    origin: NotRequired[str | None]
    contact_status: NotRequired[str | None]
    external_id: NotRequired[str | None]


class ContactOfClient(TypedDict):
    """A contact, and the client that it belongs to."""

    id: int
    updated_time: str
    first_name: str
    last_name: str
    origin: str
    first_campaign_email_sent: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None
    previous_status: str | None
    status_changed_at: str | None
    contact_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    email: NotRequired[str]
    linkedin_url: NotRequired[str]
    company_id: NotRequired[int]
    contact_status: NotRequired[str]
    external_id: NotRequired[str]
    client_id: str


class ContactRequest(TypedDict):
    """A new contact (interface 2.1)."""

    email: NotRequired[str | None]
    linkedin_url: NotRequired[str | None]
    first_name: NotRequired[str]
    last_name: NotRequired[str]
    company_id: NotRequired[int | str | None]
    contact_custom_fields_input: NotRequired[list[CustomFieldInput]]
    contact_custom_fields: NotRequired[list[CustomFieldInput]]
    origin: NotRequired[str]
    contact_status: NotRequired[str]
    external_id: NotRequired[str | None]


class ContactResponse(TypedDict):
    """A contact (interface 2.2)."""

    id: int
    updated_time: str
    first_name: str
    last_name: str
    origin: str
    first_campaign_email_sent: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None
    previous_status: str | None
    status_changed_at: str | None
    contact_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    email: NotRequired[str]
    linkedin_url: NotRequired[str]
    company_id: NotRequired[int]
    contact_status: NotRequired[str]
    external_id: NotRequired[str]


class NumberedContacts(TypedDict):
    """A numbered page of contacts."""

    count: int
    total_pages: int
    current_page: int
    page_size: int
    results: list[ContactResponse]
