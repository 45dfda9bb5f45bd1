"""Types of fields. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.shared import CustomFieldType


Misfits = Literal["keep"]
"""What happens to values that are not of a new type."""

RemovedValues = Literal["delete"]
"""Which values go with a definition."""


class CustomFieldDefinition(TypedDict):
    """A new custom field."""

    name: str
    type: NotRequired[CustomFieldType]
    options: NotRequired[list[str]]


class CustomFieldDetail(TypedDict):
    """One custom field and its use."""

    id: str
    name: str
    type: CustomFieldType
    options: list[str]
    defined: bool
    records: int
    first_used: str | None
    last_changed: str | None
    former_names: list[str]


class CustomFieldMerge(TypedDict):
    """The field that this one is merged into."""

    into: str


class CustomFieldPage(TypedDict):
    """A page of custom fields by name; `next_cursor` is null on the last one."""

    data: list[CustomFieldDetail]
    next_cursor: str | None


class CustomFieldUpdate(TypedDict):
    """A new name, or a new type, of a custom field."""

    name: NotRequired[str]
    type: NotRequired[CustomFieldType]
    options: NotRequired[list[str]]


class FieldChangePreview(TypedDict):
    """What a change of a custom field would do: the number of records, and up to 20 of them."""

    dry_run: bool
    records: int
    samples: list[FieldChangeSample]


class FieldChangeSample(TypedDict):
    """The custom fields of one record before and after a change; null: no value."""

    id: int
    before: dict[str, str | None]
    after: dict[str, str | None]


class FieldTypePreview(TypedDict):
    """How many values are not of the new type, and up to 20 of them."""

    dry_run: bool
    misfits: int
    samples: list[MisfitSample]


class MisfitSample(TypedDict):
    """A record and its value, which is not of the type."""

    id: int
    value: str


class ValueMerge(TypedDict):
    """Values of a field, and the one that replaces them."""

    values: list[str]
    into: str
