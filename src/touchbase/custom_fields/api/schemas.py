"""Bodies of requests and responses about custom fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.models import FIELD_TYPES, FieldType
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text_or_none
from touchbase.custom_fields.service import ChangePreview, ClientField, TypeCheck
from touchbase.errors import Fault, Invalid
from touchbase.http.schemas import MaybeTime, PageOf, example, named_enum
from touchbase.records.api.schemas import FieldName

MOST_VALUES = 100
"""Values that are replaced at once."""
MOST_OPTIONS = 500
Option = Annotated[str, Meta(min_length=1, max_length=limits.VALUE)]
Options = Annotated[list[Option], Meta(max_length=MOST_OPTIONS, description="The values of a `select`.")]


named_enum("CustomFieldType", "The type of a declared custom field.", FIELD_TYPES)
FieldTypeName = Literal["text", "number", "boolean", "date", "datetime", "email", "url", "select"]


class FieldTypeBody(Struct, forbid_unknown_fields=True):
    """A declared custom field: its type, and the choices of a select."""

    type: FieldTypeName
    options: Annotated[list[Annotated[str, Meta(min_length=1, max_length=limits.VALUE)]], Meta(max_length=MOST_OPTIONS)] = []


def checked_field(field: FieldTypeBody, pointer: str, faults: list[Fault]) -> FieldType:
    """Return the type of a custom field; `pointer` points to its options."""
    if (field.type == "select") != bool(field.options):
        detail = "a select needs its options" if field.type == "select" else "only a select has options"
        faults.append(Fault(pointer, "options", detail))
    check_words(field.options, pointer, faults)
    return FieldType(field.type, field.options)


def check_words(words: Sequence[str], pointer: str, faults: list[Fault]) -> None:
    """Check words: values are stored without white space around them, so a word with some would never match."""
    folded: set[str] = set()
    for index, word in enumerate(words):
        if word != word.strip() or limits.is_blank(word):
            faults.append(Fault(f"{pointer}/{index}", "blank", "must not be blank or have white space around it"))
        elif word in folded:
            faults.append(Fault(f"{pointer}/{index}", "repeated", f"{word!r} is given twice"))
        folded.add(word)


class CustomFieldDefinition(Struct, forbid_unknown_fields=True):
    """A new custom field."""

    name: FieldName
    type: FieldTypeName = "text"
    options: Options = []


class CustomFieldUpdate(Struct, forbid_unknown_fields=True):
    """A new name, or a new type, of a custom field."""

    name: FieldName | UnsetType = UNSET
    type: FieldTypeName | UnsetType = UNSET
    options: Options | UnsetType = UNSET


class CustomFieldMerge(Struct, forbid_unknown_fields=True):
    """The field that this one is merged into."""

    into: FieldName


class ValueMerge(Struct, forbid_unknown_fields=True):
    """Values of a field, with their replacement."""

    values: Annotated[list[Option], Meta(min_length=1, max_length=MOST_VALUES)]
    into: Option


class CustomFieldDetail(Struct):
    """One custom field and its use. `id` is its name as the address of the field has it."""

    id: Annotated[str, Meta(description="The name, with `~` as `~0` and `/` as `~1`.")]
    name: str
    type: FieldTypeName
    options: list[str]
    defined: Annotated[bool, Meta(description="Whether it was defined; false: records have it, and any value is valid.")]
    records: Annotated[int, Meta(description="Number of records that have a value.")]
    first_used: MaybeTime
    last_changed: MaybeTime
    former_names: Annotated[list[str], Meta(description="Names that lead to it, in requests, imports, filters and webhooks.")]
    version: Annotated[str, Meta(description="Its ETag, without quotes: another one after each change of the field, not of records.")]


class CustomFieldPage(PageOf[CustomFieldDetail]):
    """A page of custom fields by name; `next_cursor` is null on the last one."""


class FieldChangeSample(Struct):
    """The custom fields of one record before and after a change; null: no value."""

    id: int
    before: dict[str, str | None]
    after: dict[str, str | None]


class FieldChangePreview(Struct):
    """Preview of a change of a custom field: the number of records, and up to 20 of them."""

    dry_run: bool
    records: int
    samples: list[FieldChangeSample]


class MisfitSample(Struct):
    """A record and its value, which is not of the type."""

    id: int
    value: str


class FieldTypePreview(Struct):
    """How many values are not of the new type, and up to 20 of them."""

    dry_run: bool
    misfits: int
    samples: list[MisfitSample]


_FIELD = {
    "id": "Employees", "name": "Employees", "type": "number", "options": [], "defined": True, "records": 1204,
    "first_used": "2026-05-02T08:00:00Z", "last_changed": "2026-11-20T09:30:00Z", "former_names": ["Headcount"],
    "version": "5f0c1e2a9b7d4480",
}  # fmt: skip
example(CustomFieldDefinition, {"name": "Employees", "type": "number"})
example(CustomFieldUpdate, {"name": "Sector"})
example(CustomFieldMerge, {"into": "Industry"})
example(ValueMerge, {"values": ["fintech", "FinTech"], "into": "Fintech"})
example(CustomFieldDetail, _FIELD)
example(CustomFieldPage, {"data": [_FIELD], "next_cursor": None})
_SAMPLE = {"id": 1042, "before": {"Industry": "Fintech", "Sector": None}, "after": {"Industry": None, "Sector": "Fintech"}}
example(FieldChangePreview, {"dry_run": True, "records": 310, "samples": [_SAMPLE]})
example(FieldTypePreview, {"dry_run": True, "misfits": 2, "samples": [{"id": 1042, "value": "about 50"}]})


def id_of(name: str) -> str:
    """Return a name as the address of the field has it."""
    return name.replace("~", "~0").replace("/", "~1")


def name_of(text: str) -> str:
    """Return the name that an address has."""
    return text.replace("~1", "/").replace("~0", "~")


def field_name(text: str, pointer: str) -> str:
    """Return a name as fields have it; raise `Invalid`."""
    if (why := limits.why_no_name(text)) is not None:
        raise Invalid([Fault(pointer, "blank" if limits.is_blank(text) else "unusable_text", why)])
    return text.strip()


def field_type(type_: FieldTypeName, options: list[str]) -> FieldType:
    """Return a type; raise `Invalid` for one without the options that it needs, or with others."""
    faults: list[Fault] = []
    checked = checked_field(FieldTypeBody(type_, options), "/options", faults)
    if faults:
        raise Invalid(faults)
    return checked


def detail_of(field: ClientField) -> CustomFieldDetail:
    """Return a field as responses show it."""
    first, last = (to_text_or_none(at) for at in (field.first_us, field.last_us))
    kind: Any = field.type.type
    return CustomFieldDetail(
        id_of(field.name), field.name, kind, field.type.options, field.is_declared, field.records, first, last, field.former_names,
        field.version,
    )  # fmt: skip


def preview_of(preview: ChangePreview) -> FieldChangePreview:
    """Return a preview as responses show it."""
    return FieldChangePreview(
        True, preview.records, [FieldChangeSample(sample, dict(old), dict(new)) for sample, old, new in preview.samples]
    )


def type_preview_of(check: TypeCheck) -> FieldTypePreview:
    """Return the values that are not of a type as responses show them."""
    return FieldTypePreview(True, check.misfits, [MisfitSample(*sample) for sample in check.samples])
