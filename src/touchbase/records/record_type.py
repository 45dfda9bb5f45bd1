"""Record types: differences between contacts and companies, defined once.

Requests, merge patches, projections, plans and HTTP resources read it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import fields as attributes
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

from touchbase.clients.models import ClientSettings, FieldType, StatusSet
from touchbase.errors import Fault, NotFound
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records import fields, validation
from touchbase.records.fields import EMAILS, Field, body, members, stamped
from touchbase.records.models import Company, Contact

R_co = TypeVar("R_co", Contact, Company, covariant=True)


@dataclass(frozen=True, slots=True, repr=False)
class RecordType(Generic[R_co]):
    """The definition of one type of record."""

    kind: int
    """CONTACT or COMPANY, as the tables hold it."""
    name: str
    """Table, prefix of event names, and word in messages."""
    plural: str
    model: Callable[..., R_co]
    """The dataclass; its fields are the columns of the table."""
    members: tuple[Field, ...]
    """All fields (`records/fields.py`)."""
    body: tuple[Field, ...]
    """The fields of requests, with the place of the custom fields among them."""
    fields: tuple[Field, ...]
    """The fields that requests set and that carry a stamp."""
    times: tuple[str, ...]
    """Columns of times that are projected from the history and that responses show."""
    custom_fields: str
    """The JSON member of requests that has custom fields."""
    status: str
    """The JSON member of the status."""
    statuses: Callable[[ClientSettings], StatusSet | None]
    field_types: Callable[[ClientSettings], Mapping[str, FieldType]]
    """The declared custom fields."""
    field_names: Callable[[ClientSettings], Mapping[str, str]]
    """Former names of custom fields -> present ones."""

    def __post_init__(self) -> None:
        columns = {attribute.name for attribute in attributes(self.model)}  # type: ignore[arg-type]
        for field in self.members:
            if not {field.column, field.key or field.column} <= columns:
                raise TypeError(f"records/models.py has no attribute for the column {field.column} of a {self.name} (records/fields.py)")

    def __repr__(self) -> str:
        return f"{self.name.upper()}_TYPE"

    def columns(self, values: Mapping[str, str | int | None], faults: list[Fault]) -> dict[str, str | int | None]:
        """Return the columns of the given fields, with their normal forms; texts are trimmed, and None where blank."""
        columns: dict[str, str | int | None] = {}
        for field in self.fields:
            name = field.name
            if name in values:
                value = values[name]
                if field.normalize is not None:
                    text = validation.text_or_none(value)
                    columns[name] = stored = text if text is None or field.clean is None else field.clean(text)
                    columns[field.key] = field.normalize(None if stored is None else text, f"/{name}", faults)
                else:
                    columns[name] = value.strip() or None if isinstance(value, str) else value
        return columns

    @property
    def keys(self) -> tuple[Field, ...]:
        """The fields that identify a record to callers; the first is the usual one."""
        return tuple(field for field in self.fields if field.key)

    @property
    def identities(self) -> tuple[str, ...]:
        """The names of the fields by which webhooks find a record."""
        return tuple(field.name for field in self.fields if field.link)

    @property
    def lists(self) -> tuple[str, ...]:
        """Columns that are lists."""
        return tuple(field.column for field in self.members if field.kind == EMAILS)

    @property
    def words(self) -> tuple[str, ...]:
        """The columns whose words are in the full-text index, besides custom fields."""
        return tuple(field.key or field.column for field in self.members if field.has_words)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in self.fields)

    def missing(self, number: int) -> NotFound:
        """Return the error for a record that does not exist; `data["id"]` is its id."""
        return NotFound(f"there is no {self.name} with id {number}", data={"id": number})

    def transitions(self, settings: ClientSettings) -> dict[str, list[str]] | None:
        """Allowed status transitions; None where the client has declared no statuses."""
        statuses = self.statuses(settings)
        return statuses.transitions if statuses else None


CONTACT_TYPE: RecordType[Contact] = RecordType(
    kind=CONTACT,
    name="contact",
    plural="contacts",
    model=Contact,
    members=members(fields.CONTACT),
    body=body(fields.CONTACT),
    fields=stamped(fields.CONTACT),
    times=tuple(field.column for field in fields.DATES),
    custom_fields="contact_custom_fields_input",
    status="contact_status",
    statuses=attrgetter("contact_statuses"),
    field_types=attrgetter("contact_fields"),
    field_names=attrgetter("contact_field_names"),
)
COMPANY_TYPE: RecordType[Company] = RecordType(
    kind=COMPANY,
    name="company",
    plural="companies",
    model=Company,
    members=members(fields.COMPANY),
    body=body(fields.COMPANY),
    fields=stamped(fields.COMPANY),
    times=(),
    custom_fields="company_custom_fields",
    status="company_status",
    statuses=attrgetter("company_statuses"),
    field_types=attrgetter("company_fields"),
    field_names=attrgetter("company_field_names"),
)
RECORD_TYPES: dict[int, RecordType[Contact] | RecordType[Company]] = {CONTACT: CONTACT_TYPE, COMPANY: COMPANY_TYPE}

KEY_FIELDS = {field.name: field for record_kind in RECORD_TYPES.values() for field in record_kind.keys}
"""Fields that only one record of a client can have a value of."""
IDENTITY_FIELDS = {name: field for name, field in KEY_FIELDS.items() if field.link}
"""Fields by which webhooks find a record; identity resolution sets them with their normal forms."""
RESOLVED_FIELDS = frozenset({*IDENTITY_FIELDS, "company_id"})
"""Fields that the projection leaves to identity resolution, which joins their values where records are merged."""
_CONTACT_FIELDS, _COMPANY_FIELDS = CONTACT_TYPE.names, COMPANY_TYPE.names


def stamped_fields(record: Contact | Company) -> tuple[str, ...]:
    """Return the names of the record's fields that carry a stamp."""
    return _CONTACT_FIELDS if isinstance(record, Contact) else _COMPANY_FIELDS


_VALUES = {kind: attrgetter(*names) for kind, names in ((Contact, _CONTACT_FIELDS), (Company, _COMPANY_FIELDS))}


def stamped_values(record: Contact | Company) -> tuple[Any, ...]:
    """Return the values of the record's `stamped_fields`."""
    values: tuple[Any, ...] = _VALUES[type(record)](record)
    return values


@overload
def type_of(record: Contact) -> RecordType[Contact]: ...
@overload
def type_of(record: Company) -> RecordType[Company]: ...
@overload
def type_of(record: Contact | Company) -> RecordType[Contact] | RecordType[Company]: ...
def type_of(record: Contact | Company) -> RecordType[Contact] | RecordType[Company]:
    """Return the record's type."""
    return CONTACT_TYPE if isinstance(record, Contact) else COMPANY_TYPE
