"""Types of revyops. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.company_records import CompanyOfClient
from touchbase.client.models.contact_records import ContactOfClient
from touchbase.client.models.records import CustomFieldInput, CustomFieldOut


EmailType = Literal["sent", "reply"]
"""Whether the client sent an e-mail or received it."""


class CustomFieldValue(TypedDict):
    """A new value of a custom field."""

    field_value: str
    field_name: NotRequired[str]


class EmailOut(TypedDict):
    """An e-mail that was sent to a contact or received from it."""

    id: int
    updated_time: str
    email_timestamp: str
    contact_email: str | None
    contact_id: int
    agent_email: str | None
    email_type: EmailType
    subject: str | None
    body_text: str | None
    body_html: str | None
    campaign_id: str | None
    campaign_name: str | None
    interested: bool
    origin: str
    custom_fields: list[CustomFieldOut]


class InterestedIn(TypedDict):
    """Which e-mail of which contact shows that the contact is interested."""

    email: str
    subject: str
    disposition: NotRequired[str | None]


class NewEmail(TypedDict):
    """An e-mail of a contact."""

    email_type: str
    contact_id: NotRequired[int | None]
    contact_email: NotRequired[str | None]
    email_timestamp: NotRequired[str | None]
    agent_email: NotRequired[str | None]
    subject: NotRequired[str | None]
    body_text: NotRequired[str | None]
    body_html: NotRequired[str | None]
    campaign_id: NotRequired[str | None]
    campaign_name: NotRequired[str | None]
    interested: NotRequired[bool | None]
    origin: NotRequired[str | None]
    custom_fields: NotRequired[list[CustomFieldInput]]


class NumberedCompaniesOfClients(TypedDict):
    """A numbered page of the companies of all clients."""

    count: int
    total_pages: int
    current_page: int
    page_size: int
    results: list[CompanyOfClient]


class NumberedContactsOfClients(TypedDict):
    """A numbered page of the contacts of all clients."""

    count: int
    total_pages: int
    current_page: int
    page_size: int
    results: list[ContactOfClient]
