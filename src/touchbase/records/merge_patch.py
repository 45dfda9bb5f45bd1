"""Changes asked of a record: a JSON merge patch over the request's fields, in the store's terms.

A field that is absent stays, null or blank unsets it. Custom fields are put in by name, since the list
that a request carries is never answered: a null value takes one away, null for the list takes all away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from touchbase.clients.models import FieldType
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.records import validation


@dataclass(slots=True)
class CustomChanges:
    """Custom fields by name; None takes one away. `clear` first takes all away."""

    values: dict[str, str | None] = field(default_factory=dict)
    clear: bool = False


class NewValue(Protocol):
    """One custom field in a change."""

    @property
    def field_name(self) -> str:
        """Its name, not blank."""
        ...

    @property
    def field_value(self) -> str | None:
        """Its new value; None takes the field away."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """What is asked of one record: values by the interface's names, and custom fields.

    `custom` None takes every custom field away, an empty list leaves them. With `if_updated_us` the record
    must still be in that state.
    """

    fields: Mapping[str, str | int | None]
    custom: Sequence[NewValue] | None = ()
    if_updated_us: Micros | None = None
    custom_pointer: str | None = None
    """Where custom fields stand in the body, if not in the usual place."""
    custom_faults: Sequence[Fault] = ()
    """What is wrong with them as a whole."""


def text_or_none(value: object) -> str | None:
    """A trimmed text; None for null and blank."""
    return value.strip() or None if isinstance(value, str) else None


def custom_changes(asked: Sequence[NewValue] | None, declared: Mapping[str, FieldType], pointer: str, faults: list[Fault]) -> CustomChanges:
    """What is asked of the custom fields; the same rules as at creation."""
    if asked is None:
        return CustomChanges(clear=True)
    stand_ins = [_Given(each.field_name, each.field_value or "") for each in asked]
    named = validation.custom_fields(stand_ins, declared, pointer, faults)
    taken_away = {each.field_name.strip() for each in asked if each.field_value is None}
    return CustomChanges({name: None if name in taken_away else value for name, value in named})


@dataclass(frozen=True, slots=True)
class _Given:
    field_name: str
    field_value: str
