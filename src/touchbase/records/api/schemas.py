"""Bodies of requests and responses about contacts and companies, field for field as in the interface."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common import field_limits as limits
from touchbase.errors import Fault
from touchbase.http.schemas import MaybeTime, Name, ProblemOut, RecordId, Time, example

Email = Annotated[
    str, Meta(max_length=limits.EMAIL, description="Checked for its syntax only; blank means unset.", examples=["jane@example.com"])
]
Url = Annotated[
    str,
    Meta(
        max_length=limits.URL,
        description="Any text; LinkedIn addresses are compared in a normal form. Blank means unset.",
        examples=["https://www.linkedin.com/in/jane-doe"],
    ),
]
Domain = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.URL,
        description="A domain, or an address that contains one; stored in lower case without `www.`, port and path.",
        examples=["example.com"],
    ),
]
Status = Annotated[str, Meta(max_length=limits.STATUS, description="Any text, unless the client has defined its set. Blank means unset.")]
Value = Annotated[str, Meta(max_length=limits.VALUE)]
FieldName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


class CustomFieldInput(Struct):
    """One custom field in a request."""

    field_name: FieldName
    field_value: Value


CustomFieldsInput = Annotated[list[CustomFieldInput], Meta(max_length=limits.CUSTOM_FIELDS)]
CONTACT_FIELDS = "contact_custom_fields_input"
OTHER_NAME = "contact_custom_fields"
"""The name of a contact's custom fields in responses; requests may use it too, as API clients of other products do."""
_ALSO = f"The same as `{CONTACT_FIELDS}`, under the name in responses. Both may be given only if they are equal."
_BOTH = "differs from {}: send one of the two, or the same in both"


class _ContactFields(Struct):
    """Custom fields of a contact in a request, under either name."""

    @property
    def custom_pointer(self) -> str:
        """Where the custom fields stand in the body."""
        return f"/{OTHER_NAME}" if _value(self, CONTACT_FIELDS) is UNSET and _value(self, OTHER_NAME) is not UNSET else f"/{CONTACT_FIELDS}"

    @property
    def custom_faults(self) -> list[Fault]:
        """Two faults if both names are given with different values."""
        one, other = _value(self, CONTACT_FIELDS), _value(self, OTHER_NAME)
        if UNSET in (one, other) or one == other:
            return []
        pairs = ((CONTACT_FIELDS, OTHER_NAME), (OTHER_NAME, CONTACT_FIELDS))
        return [Fault(f"/{name}", "contradiction", _BOTH.format(f"/{another}")) for name, another in pairs]


def _value(asked: Struct, name: str) -> Any:
    return getattr(asked, name)


class ContactRequest(_ContactFields):
    """A new contact (interface 2.1). Unknown fields are ignored."""

    email: Email | None = None
    linkedin_url: Url | None = None
    first_name: Name = ""
    last_name: Name = ""
    company_id: RecordId | None = None
    contact_custom_fields_input: CustomFieldsInput | UnsetType = UNSET
    contact_custom_fields: Annotated[CustomFieldsInput, Meta(description=_ALSO)] | UnsetType = UNSET
    origin: Name = ""
    contact_status: Status = ""

    @property
    def custom_fields(self) -> list[CustomFieldInput]:
        """The custom fields, under either name."""
        given = self.contact_custom_fields if self.contact_custom_fields_input is UNSET else self.contact_custom_fields_input
        return [] if given is UNSET else given


class CompanyRequest(Struct):
    """A new company (interface 2.3). Unknown fields are ignored."""

    domain: Domain
    name: Name = ""
    company_status: Status = ""
    company_custom_fields: CustomFieldsInput = []

    @property
    def custom_fields(self) -> list[CustomFieldInput]:
        """The custom fields."""
        return self.company_custom_fields

    @property
    def custom_pointer(self) -> str:
        """Where the custom fields stand in the body."""
        return "/company_custom_fields"

    @property
    def custom_faults(self) -> list[Fault]:
        """No faults, because a company's custom fields have one name."""
        return []


class CustomFieldChange(Struct):
    """One custom field in a change; a null value removes the field."""

    field_name: FieldName
    field_value: Value | None


CustomFieldChanges = Annotated[
    list[CustomFieldChange],
    Meta(
        max_length=limits.CUSTOM_FIELDS,
        description="Merged by name, the others stay. A null value removes a field; null in place of the list removes all.",
    ),
]


class ContactChange(_ContactFields):
    """A JSON merge patch over a contact: an absent field stays, null or blank unsets it."""

    email: Email | UnsetType | None = UNSET
    linkedin_url: Url | UnsetType | None = UNSET
    first_name: Name | UnsetType | None = UNSET
    last_name: Name | UnsetType | None = UNSET
    company_id: RecordId | UnsetType | None = UNSET
    contact_custom_fields_input: CustomFieldChanges | UnsetType | None = UNSET
    contact_custom_fields: Annotated[CustomFieldChanges, Meta(description=_ALSO)] | UnsetType | None = UNSET
    origin: Name | UnsetType | None = UNSET
    contact_status: Status | UnsetType | None = UNSET


class CompanyChange(Struct):
    """A JSON merge patch over a company: an absent field stays, null or blank unsets it. The domain can only be replaced."""

    domain: Domain | UnsetType = UNSET
    name: Name | UnsetType | None = UNSET
    company_status: Status | UnsetType | None = UNSET
    company_custom_fields: CustomFieldChanges | UnsetType | None = UNSET


class CustomFieldOut(Struct):
    """One custom field of a record."""

    id: int
    updated_time: Time
    field_name: str
    field_value: str


FlatCustomFields = dict[str, str | int | float | bool | None]
CustomFieldsOut = Annotated[
    list[CustomFieldOut] | FlatCustomFields,
    Meta(description="structure=NESTED: a list. structure=FLAT: an object by field name; declared fields have their JSON type."),
]


class ContactResponse(Struct):
    """A contact (interface 2.2)."""

    id: int
    updated_time: Time
    first_name: str
    last_name: str
    origin: str
    first_campaign_email_sent: MaybeTime
    last_campaign_email_sent: MaybeTime
    last_reply_received: MaybeTime
    previous_status: str | None
    status_changed_at: MaybeTime
    contact_custom_fields: CustomFieldsOut
    email: str | UnsetType = UNSET
    linkedin_url: str | UnsetType = UNSET
    company_id: int | UnsetType = UNSET
    contact_status: str | UnsetType = UNSET


class CompanyResponse(Struct):
    """A company (interface 2.4)."""

    id: int
    updated_time: Time
    domain: str
    previous_status: str | None
    status_changed_at: MaybeTime
    company_custom_fields: CustomFieldsOut
    name: str | UnsetType = UNSET
    company_status: str | UnsetType = UNSET


class ContactPage(Struct):
    """A page of contacts; `next_cursor` is null on the last one."""

    data: list[ContactResponse]
    next_cursor: str | None


class CompanyPage(Struct):
    """A page of companies; `next_cursor` is null on the last one."""

    data: list[CompanyResponse]
    next_cursor: str | None


class FieldChangeOut(Struct):
    """One value that an event set, and the value before it in order of time."""

    field: str
    value: str | None
    previous: str | None


class TimelineEvent(Struct):
    """One event in a record's history."""

    event: str
    occurred_at: Time
    received_at: Time
    tool: str
    campaign: str | None
    delivery_id: int | None
    key_id: str | None
    request_id: str | None
    changed: list[FieldChangeOut]
    problems: list[ProblemOut]


class TimelinePage(Struct):
    """A page of a timeline, newest first; `next_cursor` is null on the last one."""

    data: list[TimelineEvent]
    next_cursor: str | None


def given(change: Struct) -> dict[str, Any]:
    """Return the sent fields of a change by name; custom fields of a contact under one name."""
    sent = {name: value for name in change.__struct_fields__ if (value := getattr(change, name)) is not UNSET}
    if OTHER_NAME in sent:
        sent.setdefault(CONTACT_FIELDS, sent.pop(OTHER_NAME))
    sent.pop(OTHER_NAME, None)
    return sent


_FIELD = {"id": 71, "updated_time": "2026-11-20T09:30:00Z", "field_name": "Seats", "field_value": "40"}
example(
    ContactResponse,
    {
        "id": 1042,
        "updated_time": "2026-11-21T08:00:00.250000Z",
        "first_name": "Jane",
        "last_name": "Doe",
        "origin": "import",
        "first_campaign_email_sent": "2026-11-20T09:30:00Z",
        "last_campaign_email_sent": "2026-11-20T09:30:00Z",
        "last_reply_received": "2026-11-21T08:00:00Z",
        "previous_status": "contacted",
        "status_changed_at": "2026-11-21T08:00:00Z",
        "contact_custom_fields": [_FIELD],
        "email": "jane@example.com",
        "linkedin_url": "https://www.linkedin.com/in/jane-doe",
        "company_id": 17,
        "contact_status": "replied",
    },
)
example(
    CompanyResponse,
    {
        "id": 17,
        "updated_time": "2026-11-20T09:30:00Z",
        "domain": "example.com",
        "previous_status": None,
        "status_changed_at": None,
        "company_custom_fields": [_FIELD],
        "name": "Example Ltd",
    },
)
example(
    ContactRequest,
    {
        "email": "jane@example.com",
        "first_name": "Jane",
        "last_name": "Doe",
        "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}],
        "contact_status": "new",
    },
)
example(ContactChange, {"contact_status": "customer", "linkedin_url": None})
example(CompanyRequest, {"domain": "https://www.example.com/about", "name": "Example Ltd"})
example(CompanyChange, {"company_custom_fields": [{"field_name": "Seats", "field_value": None}]})
