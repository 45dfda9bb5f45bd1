"""`touchbase custom-fields` through the API of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchbase.cli.remote import ended

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.custom_fields.changes import FieldChange

Values = dict[str, Any]


def id_of(name: str) -> str:
    """Return a name as the address of the field has it."""
    from touchbase.custom_fields.api import schemas

    return schemas.id_of(name)


def fields_of(tb: Touchbase, record: str) -> Any:
    """Return the operations of a server on the custom fields of contacts or companies."""
    return tb.contact_custom_fields if record == "contacts" else tb.company_custom_fields


def list_at_server(tb: Touchbase, record: str) -> list[Values]:
    """Return the custom fields."""
    return [_without_id(each) for each in fields_of(tb, record).iterate()]


def define_at_server(tb: Touchbase, record: str, name: str, kind: str, options: tuple[str, ...]) -> Values:
    """Define a field and return it."""
    return _without_id(fields_of(tb, record).define({"name": name, "type": kind, "options": list(options)}))


def type_at_server(
    tb: Touchbase, record: str, name: str, kind: str, options: tuple[str, ...], *, keep_misfits: bool, dry_run: bool
) -> Values:
    """Set the type of a field; return the field, or how many values are not of the type."""
    change, body = fields_of(tb, record).change, {"type": kind, "options": list(options)}
    if dry_run:
        found: Values = change.dry_run(id_of(name), body)
        return {each: found[each] for each in ("misfits", "samples")}
    return _without_id(change(id_of(name), body, misfits="keep" if keep_misfits else None))


def change_at_server(tb: Touchbase, record: str, change: FieldChange, dry_run: bool) -> Values:
    """Rename, merge or remove a field, or merge values of it; return the ended job, or the preview."""
    group = fields_of(tb, record)
    calls: dict[str, tuple[Any, list[Any], dict[str, str]]] = {
        "rename": (group.change, [{"name": change.into}], {}),
        "merge": (group.merge, [{"into": change.into}], {}),
        "merge_values": (group.merge_values, [{"values": list(change.values), "into": change.into}], {}),
        "remove": (group.remove, [], {"values": "delete"}),
    }
    method, arguments, more = calls[change.action]
    address = id_of(change.field)
    if dry_run:
        return {**method.dry_run(address, *arguments, **more)}
    return ended(tb, method(address, *arguments, **more))


def _without_id(field: Values) -> Values:
    return {name: value for name, value in field.items() if name != "id"}
