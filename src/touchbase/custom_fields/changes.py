"""The changes of a custom field that concern records, applied to the values of one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from touchbase.common.timestamps import Micros

RENAME, MERGE, MERGE_VALUES, REMOVE = ACTIONS = ("rename", "merge", "merge_values", "remove")
Values = Mapping[str, str | None]
"""A record's custom fields by name; None for a removed one."""


class FieldJob(msgspec.Struct, frozen=True):
    """One change of a custom field; the settings of its job."""

    action: Literal["rename", "merge", "merge_values", "remove"]
    field: str
    into: str = ""
    """The new name; the field that it is merged into; the value that replaces others."""
    values: tuple[str, ...] = ()
    """The values that are replaced."""
    continues: bool = False
    """Whether it continues a change that was cancelled."""

    @property
    def fields(self) -> frozenset[str]:
        """The fields whose last write the change follows."""
        return frozenset({self.field, self.into} if self.action == MERGE else {self.field})

    def of(self, values: Values) -> Values:
        """Return the values that a record gets; none if it stays as it is."""
        return _CHANGES[self.action](self, values)


def _rename(what: FieldJob, values: Values) -> Values:
    return {what.field: None, what.into: values[what.field]} if what.field in values else {}


def _merge(what: FieldJob, values: Values) -> Values:
    value = values.get(what.field)
    if value is None:
        return {}
    return {what.field: None} if values.get(what.into) or not value else {what.field: None, what.into: value}


def _merge_values(what: FieldJob, values: Values) -> Values:
    return {what.field: what.into} if values.get(what.field) in what.values else {}


def _remove(what: FieldJob, values: Values) -> Values:
    return {what.field: None} if values.get(what.field) is not None else {}


_CHANGES: Mapping[str, Callable[[FieldJob, Values], Values]] = {
    RENAME: _rename,
    MERGE: _merge,
    MERGE_VALUES: _merge_values,
    REMOVE: _remove,
}


@dataclass(frozen=True, slots=True)
class FieldUse:
    """How records use a field: how many have a value, since when, and when one last changed."""

    records: int
    first_us: Micros
    last_us: Micros


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of one record, and the value of the field into which it may be merged."""

    record_id: int
    value: str | None
    into_value: str | None
