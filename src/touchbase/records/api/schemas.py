"""Bodies of requests and responses about contacts and companies, field for field as in the interface."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import Fault
from touchbase.http.schemas import MaybeTime, Name, ProblemOut, RecordId, Time, example
from touchbase.records import validation

Email = Annotated[
    str, Meta(max_length=limits.EMAIL, description="Checked for its syntax only; blank means unset.", examples=["jane@example.com"])
]
Url = Annotated[
    str,
    Meta(
        max_length=limits.URL,
        description="The address of a person's profile, compared in a normal form; another page is refused. Blank and `N/A` mean unset.",
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
ExternalId = Annotated[
    str,
    Meta(
        max_length=limits.EXTERNAL_ID,
        description="Your own id of the record, such as its key in your database. At most one record of its kind has it; letters' case "
        "counts. Blank means unset.",
        examples=["crm-4711"],
    ),
]
Status = Annotated[str, Meta(max_length=limits.STATUS, description="Any text, unless the client has defined its set. Blank means unset.")]
Value = Annotated[str, Meta(max_length=limits.VALUE)]
FieldName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


class CustomFieldInput(Struct):
    """One custom field in a request."""

    field_name: FieldName
    field_value: Value


example(CustomFieldInput, {"field_name": "Industry", "field_value": "Software"})

CustomFieldsInput = Annotated[list[CustomFieldInput], Meta(max_length=limits.CUSTOM_FIELDS)]
CONTACT_FIELDS = "contact_custom_fields_input"
COMPANY_FIELDS = "company_custom_fields"
OTHER_NAMES = {CONTACT_FIELDS: "contact_custom_fields", COMPANY_FIELDS: "company_custom_fields_input"}
"""The second name of the custom fields in requests: a contact's in responses, and a company's by analogy. API clients of other
products use both."""
_ALSO = "The same as `{}`. Both may be given only if they are equal."
_ALSO_CONTACT, _ALSO_COMPANY = Meta(description=_ALSO.format(CONTACT_FIELDS)), Meta(description=_ALSO.format(COMPANY_FIELDS))
_BOTH = "differs from {}: send one of the two, or the same in both"
CompanyId = Annotated[
    str,
    Meta(max_length=limits.URL, description="The domain of a company that exists. Blank means unset.", examples=["example.com"]),
]


class _RecordFields(Struct):
    """What the bodies of requests share: custom fields under two names, and a company named by its domain."""

    CUSTOM: ClassVar[tuple[str, str]]
    """Both names of the custom fields."""

    @property
    def custom_pointer(self) -> str:
        """Where the custom fields are in the body."""
        name, other = self.CUSTOM
        return f"/{other}" if getattr(self, name) is UNSET and getattr(self, other) is not UNSET else f"/{name}"

    @property
    def body_faults(self) -> list[Fault]:
        """The faults of both names with different values, and of a company's domain."""
        faults: list[Fault] = []
        names = self.CUSTOM
        one, other = getattr(self, names[0]), getattr(self, names[1])
        if one is not UNSET and other is not UNSET and one != other:
            faults += [Fault(f"/{name}", "contradiction", _BOTH.format(f"/{another}")) for name, another in (names, names[::-1])]
        company = getattr(self, "company_id", None)
        if isinstance(company, str) and company.strip():
            validation.domain(company, "/company_id", faults)
        return faults

    @property
    def custom_fields(self) -> list[Any]:
        """The custom fields, under either name."""
        given = getattr(self, self.CUSTOM[0])
        return (getattr(self, self.CUSTOM[1]) if given is UNSET else given) or []


class ContactRequest(_RecordFields):
    """A new contact (interface 2.1). Unknown fields are ignored and named in `Touchbase-Ignored`, near misses are refused."""

    CUSTOM = (CONTACT_FIELDS, OTHER_NAMES[CONTACT_FIELDS])
    email: Email | None = None
    linkedin_url: Url | None = None
    first_name: Name = ""
    last_name: Name = ""
    company_id: RecordId | CompanyId | None = None
    contact_custom_fields_input: CustomFieldsInput | UnsetType = UNSET
    contact_custom_fields: Annotated[CustomFieldsInput, _ALSO_CONTACT] | UnsetType = UNSET
    origin: Name = ""
    contact_status: Status = ""
    external_id: ExternalId | None = None


class CompanyRequest(_RecordFields):
    """A new company (interface 2.3). Unknown fields are ignored and named in `Touchbase-Ignored`, near misses are refused."""

    CUSTOM = (COMPANY_FIELDS, OTHER_NAMES[COMPANY_FIELDS])
    domain: Domain
    name: Name = ""
    company_status: Status = ""
    external_id: ExternalId | None = None
    company_custom_fields: CustomFieldsInput | UnsetType = UNSET
    company_custom_fields_input: Annotated[CustomFieldsInput, _ALSO_COMPANY] | UnsetType = UNSET

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


class ContactChange(_RecordFields):
    """A JSON merge patch over a contact: an absent field stays, null or blank unsets it."""

    CUSTOM = (CONTACT_FIELDS, OTHER_NAMES[CONTACT_FIELDS])
    email: Email | UnsetType | None = UNSET
    linkedin_url: Url | UnsetType | None = UNSET
    first_name: Name | UnsetType | None = UNSET
    last_name: Name | UnsetType | None = UNSET
    company_id: RecordId | CompanyId | UnsetType | None = UNSET
    contact_custom_fields_input: CustomFieldChanges | UnsetType | None = UNSET
    contact_custom_fields: Annotated[CustomFieldChanges, _ALSO_CONTACT] | UnsetType | None = UNSET
    origin: Name | UnsetType | None = UNSET
    contact_status: Status | UnsetType | None = UNSET
    external_id: ExternalId | UnsetType | None = UNSET


class CompanyChange(_RecordFields):
    """A JSON merge patch over a company: an absent field stays, null or blank unsets it. The domain can only be replaced."""

    CUSTOM = (COMPANY_FIELDS, OTHER_NAMES[COMPANY_FIELDS])
    domain: Domain | UnsetType = UNSET
    name: Name | UnsetType | None = UNSET
    company_status: Status | UnsetType | None = UNSET
    external_id: ExternalId | UnsetType | None = UNSET
    company_custom_fields: CustomFieldChanges | UnsetType | None = UNSET
    company_custom_fields_input: Annotated[CustomFieldChanges, _ALSO_COMPANY] | UnsetType | None = UNSET


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
    external_id: str | UnsetType = UNSET


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
    external_id: str | UnsetType = UNSET


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
    campaign_id: str | None
    delivery_id: int | None
    key_id: str | None
    request_id: str | None
    changed: list[FieldChangeOut]
    problems: list[ProblemOut]
    message_id: Annotated[int | None, Meta(description="The message that the event brought: `GET /public/v2/messages/{id}`.")] = None


ComputedSince = Time | UnsetType


def since(at: Micros | None) -> str | UnsetType:
    """Return the member `computed_since`."""
    return UNSET if at is None else to_text(at)


class TimelinePage(Struct):
    """A page of a timeline, newest first; `next_cursor` is null on the last one."""

    data: list[TimelineEvent]
    next_cursor: str | None
    computed_since: ComputedSince = UNSET


def given(change: Struct) -> dict[str, Any]:
    """Return the sent fields of a change by name; custom fields under one name."""
    sent = {name: value for name in change.__struct_fields__ if (value := getattr(change, name)) is not UNSET}
    for name, other in OTHER_NAMES.items():
        if other in sent:
            sent.setdefault(name, sent.pop(other))
        sent.pop(other, None)
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
