"""Custom fields in events: present names in place of former ones, and values that are not of the client's type."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.clients.models import ClientSettings
from touchbase.history.events import Detail
from touchbase.history.problems import VALUE_TYPE, Problems, add_problem
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.validation import misfit


def with_present_names(detail: Detail, kind: int, settings: ClientSettings) -> Detail:
    """Return the detail of an event with the present names of its custom fields; a value under the present name stays."""
    renamed = RECORD_TYPES[kind].field_names(settings)
    custom: Mapping[str, str | None] = detail.get("custom", {})
    if not renamed or renamed.keys().isdisjoint(custom):
        return detail
    named = {name: value for name, value in custom.items() if name not in renamed}
    for name, value in custom.items():
        named.setdefault(renamed.get(name, name), value)
    return {**detail, "custom": named}


def note_misfits(detail: Detail, kind: int, settings: ClientSettings, problems: Problems) -> None:
    """Add a problem if a value is not of the type that the client declared; it is stored as it came."""
    declared = RECORD_TYPES[kind].field_types(settings)
    if not declared:
        return
    for name, value in detail.get("custom", {}).items():
        if value and name in declared and misfit(value, declared[name]) is not None:
            add_problem(problems, VALUE_TYPE, name)
