"""Bodies of requests and responses about contacts and companies, field for field as in the interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import Fault
from touchbase.http.actors import Actor
from touchbase.http.openapi_members import COMMON
from touchbase.http.schemas import PageOf, ProblemOut, RecordId, Time, example
from touchbase.records import fields, validation
from touchbase.records.fields import BLANK, CUSTOM, EMAILS, NULL, NUMBER, TEXT, TIME, Field, shown
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType

S = TypeVar("S", bound=Struct)
_Member = tuple[str, Any] | tuple[str, Any, Any]
"""Name, type and default of a member."""
COMMON.update({field.name: field.meaning for field in (*fields.CONTACT, *fields.COMPANY) if field.meaning})


Value = Annotated[str, Meta(max_length=limits.VALUE)]
FieldName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


class CustomFieldInput(Struct):
    """One custom field in a request."""

    field_name: FieldName
    field_value: Value


example(CustomFieldInput, {"field_name": "Industry", "field_value": "Software"})

CustomFieldsInput = Annotated[list[CustomFieldInput], Meta(max_length=limits.CUSTOM_FIELDS)]
CONTACT_FIELDS, COMPANY_FIELDS = CONTACT_TYPE.custom_fields, COMPANY_TYPE.custom_fields
SECOND_NAMES = {CONTACT_FIELDS: "contact_custom_fields", COMPANY_FIELDS: "company_custom_fields_input"}
"""The second name of the custom fields in requests: a contact's in responses, and a company's by analogy. API clients of other
products use both."""
_ALSO = "The same as `{}`. Both may be given only if they are equal."
_BOTH = "differs from {}: send one of the two, or the same in both"


class _RecordFields(Struct):
    """Shared members of request bodies: custom fields under two names, and a company named by its domain."""

    CUSTOM: ClassVar[tuple[str, str]]
    """Both names of the custom fields."""

    @property
    def custom_pointer(self) -> str:
        """Where the custom fields are in the body."""
        name, second = self.CUSTOM
        return f"/{second}" if getattr(self, name) is UNSET and getattr(self, second) is not UNSET else f"/{name}"

    @property
    def body_faults(self) -> list[Fault]:
        """The faults of both names with different values, and of a company's domain."""
        faults: list[Fault] = []
        names = self.CUSTOM
        first, second = getattr(self, names[0]), getattr(self, names[1])
        if first is not UNSET and second is not UNSET and first != second:
            faults += [Fault(f"/{name}", "contradiction", _BOTH.format(f"/{another}")) for name, another in (names, names[::-1])]
        company = getattr(self, "company_id", None)
        if isinstance(company, str) and company.strip():
            validation.domain(company, "/company_id", faults)
        return faults

    @property
    def custom_fields(self) -> list[Any]:
        """The custom fields, under either name."""
        value = getattr(self, self.CUSTOM[0])
        return (getattr(self, self.CUSTOM[1]) if value is UNSET else value) or []


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


def _with(members: Iterable[_Member]) -> Callable[[type[S]], type[S]]:
    """Add members to a struct, with their defaults."""
    defined = list(members)
    return lambda of: defstruct(of.__name__, defined, bases=(of,), module=of.__module__, namespace={"__doc__": of.__doc__})  # type: ignore[return-value]


def _creation(kind: RecordType[Any]) -> Callable[[type[S]], type[S]]:
    """Add the members of a new record."""
    return _with(chain.from_iterable(_created(kind, field) for field in kind.body))


def _created(kind: RecordType[Any], field: Field) -> list[_Member]:
    if field.kind == CUSTOM:
        return _custom_members(kind, lambda value: value | UnsetType, CustomFieldsInput)
    if field.required:
        return [(field.name, field.value)]
    return [(field.name, field.value | None, None) if field.nullable else (field.name, field.value, "")]


def _change(kind: RecordType[Any]) -> Callable[[type[S]], type[S]]:
    """Add the members of a merge patch."""
    return _with(chain.from_iterable(_changed(kind, field) for field in kind.body))


def _changed(kind: RecordType[Any], field: Field) -> list[_Member]:
    if field.kind == CUSTOM:
        return _custom_members(kind, lambda value: value | UnsetType | None, CustomFieldChanges)
    return [(field.name, field.value | UnsetType if field.required else field.value | UnsetType | None, UNSET)]


def _custom_members(kind: RecordType[Any], optional: Callable[[Any], Any], value: Any) -> list[_Member]:
    """Return the custom fields under both of their names."""
    name = kind.custom_fields
    also = Annotated[value, Meta(description=_ALSO.format(name))]
    return [(name, optional(value), UNSET), (SECOND_NAMES[name], optional(also), UNSET)]


def _response(kind: RecordType[Any]) -> Callable[[type[S]], type[S]]:
    """Add the members of a response."""
    return _with(_responded(field) for field in shown(kind.members, f"{kind.name}_custom_fields"))


def _responded(field: Field) -> _Member:
    value: Any = {TEXT: str, NUMBER: int, TIME: Time, EMAILS: list[str], CUSTOM: CustomFieldsOut}[field.kind]
    if field.kind == CUSTOM or field.unset == BLANK:
        return field.name, value
    return (field.name, value | None) if field.unset == NULL else (field.name, value | UnsetType, UNSET)


def identified(kind: RecordType[Any]) -> Callable[[type[S]], type[S]]:
    """Add the members that identify a record."""
    return _with((field.name, field.value | UnsetType | None, UNSET) for field in kind.keys)


@_creation(CONTACT_TYPE)
class ContactRequest(_RecordFields):
    """A new contact (interface 2.1). Unknown fields are ignored and named in `Touchbase-Ignored`, near misses are refused."""

    CUSTOM = (CONTACT_FIELDS, SECOND_NAMES[CONTACT_FIELDS])


@_creation(COMPANY_TYPE)
class CompanyRequest(_RecordFields):
    """A new company (interface 2.3). Unknown fields are ignored and named in `Touchbase-Ignored`, near misses are refused."""

    CUSTOM = (COMPANY_FIELDS, SECOND_NAMES[COMPANY_FIELDS])


@_change(CONTACT_TYPE)
class ContactChange(_RecordFields):
    """A JSON merge patch over a contact: an absent field stays, null or blank unsets it."""

    CUSTOM = (CONTACT_FIELDS, SECOND_NAMES[CONTACT_FIELDS])


@_change(COMPANY_TYPE)
class CompanyChange(_RecordFields):
    """A JSON merge patch over a company: an absent field stays, null or blank unsets it. The domain can only be replaced."""

    CUSTOM = (COMPANY_FIELDS, SECOND_NAMES[COMPANY_FIELDS])


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


@_response(CONTACT_TYPE)
class ContactResponse(Struct):
    """A contact (interface 2.2)."""


@_response(COMPANY_TYPE)
class CompanyResponse(Struct):
    """A company (interface 2.4)."""


class _SearchPage(PageOf[S], Generic[S]):
    """A page of a list that may be a search."""

    rank: Annotated[int | UnsetType, Meta(description="With `at`: records before the first one of the page.")] = UNSET
    total: Annotated[int | UnsetType, Meta(description="With `at`: records that match.")] = UNSET
    previous_cursor: Annotated[
        str | UnsetType | None, Meta(description="With `at`: the `cursor` of the page before; null on the first one.")
    ] = UNSET
    cut: Annotated[
        dict[str, list[str]] | UnsetType,
        Meta(description="With `cut`: by id of a record, the names of the texts that were cut; `cf.NAME` is a custom field."),
    ] = UNSET


class ContactPage(_SearchPage[ContactResponse]):
    """A page of contacts; `next_cursor` is null on the last one."""


class CompanyPage(_SearchPage[CompanyResponse]):
    """A page of companies; `next_cursor` is null on the last one."""


class FieldChangeOut(Struct):
    """One value that an event set, and the value before it in order of time."""

    field: str
    value: str | None
    previous: str | None
    former_name: Annotated[
        str | UnsetType,
        Meta(description="The name that the event said, if the custom field has another one now. An unchanged value: the renaming."),
    ] = UNSET


class TimelineMerge(Struct):
    """Records of which an event made one."""

    records: Annotated[list[int], Meta(description="The records that became part of another one.")]
    merge_id: Annotated[int | None, Meta(description="Of a merge by a request, to undo it; null if the event is a webhook's.")]
    undone: Annotated[bool, Meta(description="Whether the merge was undone.")] = False


class NoteInTimeline(Struct):
    """A note in a record's history; its author is the event's `actor`."""

    id: RecordId
    text: Annotated[str, Meta(description="Plain text.")]
    mentions: Annotated[list[str], Meta(description="Ids of the users who are named in it.")]
    edited_at: Annotated[str | None, Meta(description="When it was changed last; null: never.")]
    version: Annotated[str, Meta(description="For `If-Match`.")]


class TaskInTimeline(Struct):
    """A task in a record's history; its author is the event's `actor`."""

    id: RecordId
    text: Annotated[str, Meta(description="Plain text.")]
    due_at: Annotated[Time, Meta(description="When it is due.")]
    assignee_id: Annotated[str | None, Meta(description="The user who has to do it; null: nobody in particular.")]
    done_at: Annotated[str | None, Meta(description="When it was done; null: it is open.")]
    version: Annotated[str, Meta(description="For `If-Match`.")]


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
    actor: Annotated[Actor, Meta(description="Who caused the event.")]
    changed: list[FieldChangeOut]
    problems: list[ProblemOut]
    message_id: Annotated[int | None, Meta(description="The message that the event brought: `GET /public/v2/messages/{id}`.")] = None
    merged: Annotated[
        TimelineMerge | UnsetType, Meta(description="If it made several records one: a merge, or a webhook that names the keys of two.")
    ] = UNSET
    note: Annotated[NoteInTimeline | UnsetType, Meta(description="The note that somebody wrote; left out with other events.")] = UNSET
    task: Annotated[TaskInTimeline | UnsetType, Meta(description="The task that somebody wrote; left out with other events.")] = UNSET


ComputedSince = Time | UnsetType


def since(at: Micros | None) -> str | UnsetType:
    """Return the member `computed_since`."""
    return UNSET if at is None else to_text(at)


class TimelinePage(Struct):
    """A page of a timeline, newest first; `next_cursor` is null on the last one."""

    data: list[TimelineEvent]
    next_cursor: str | None
    computed_since: ComputedSince = UNSET


def sent_fields(change: Struct) -> dict[str, Any]:
    """Return the sent fields of a change by name; custom fields under one name."""
    sent = {name: value for name in change.__struct_fields__ if (value := getattr(change, name)) is not UNSET}
    for name, second_name in SECOND_NAMES.items():
        if second_name in sent:
            sent.setdefault(name, sent.pop(second_name))
        sent.pop(second_name, None)
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
