"""`touchbase custom-fields`: the custom fields of a client, their types, and renaming and merging them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.custom_fields_remote import change_at_server, define_at_server, fields_of, id_of, list_at_server, type_at_server
from touchbase.cli.jobs import as_values
from touchbase.cli.options import Group, json_option, setting_options
from touchbase.cli.output import NOTE, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.records_files import run_job
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import explain_not_found, find_client, now_us, opened
from touchbase.clients.models import FIELD_TYPES
from touchbase.common.timestamps import to_text

if TYPE_CHECKING:
    from touchbase.clients.models import FieldType
    from touchbase.custom_fields.changes import FieldChange
    from touchbase.custom_fields.service import CustomField, Preview

COLUMNS = ("name", "type", "records", Column("last changed", SPARE), Column("former names", NOTE))
KINDS = {"contacts": 1, "companies": 2}
SEE_LIST = "`touchbase custom-fields list` shows all"


def _common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all commands of this group."""
    function = json_option()(function)
    function = click.option("--record", type=click.Choice(tuple(KINDS)), default="contacts", show_default=True, help="Whose fields.")(
        function
    )
    function = click.option("--client", "client_id", help=CLIENT)(function)
    return through_server(client="needed")(setting_options("database")(function))


_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_options = click.option("--option", "options", multiple=True, help="One value of a select; repeat it for each.")


@click.group("custom-fields", cls=Group)
def custom_fields() -> None:
    """List, define, type, rename and merge the custom fields of a client."""


@custom_fields.command("list")
@_common
def list_(database: str | None, client_id: str, record: str, as_json: bool) -> None:
    """List the custom fields with the number of records that have a value."""
    found = fetch(lambda tb: list_at_server(tb, record), lambda: _list(database, client_id, record))
    if as_json:
        print_json(found)
        return
    names = ("name", "type", "records", "last_changed")
    rows = [(*(each[name] for name in names), ", ".join(each["former_names"])) for each in found]
    print_table(COLUMNS, rows, empty="no custom field")


@custom_fields.command()
@click.argument("name")
@click.option("--type", "kind", type=click.Choice(FIELD_TYPES), default="text", show_default=True)
@_options
@_common
def add(database: str | None, client_id: str, record: str, name: str, kind: str, options: tuple[str, ...], as_json: bool) -> None:
    """Define a custom field with a type."""
    found = fetch(
        lambda tb: define_at_server(tb, record, name, kind, options),
        lambda: _define(database, client_id, record, name, (kind, options), is_new=True),
    )
    _print(found, as_json)


@custom_fields.command()
@click.argument("name")
@click.argument("new_name")
@_dry_run
@_common
def rename(database: str | None, client_id: str, record: str, name: str, new_name: str, dry_run: bool, as_json: bool) -> None:
    """Rename a field on all records; the old name leads to it from then on."""
    _change(database, client_id, record, ("rename", name, new_name, ()), dry_run, as_json)


@custom_fields.command()
@click.argument("name")
@click.argument("into")
@_dry_run
@_common
def merge(database: str | None, client_id: str, record: str, name: str, into: str, dry_run: bool, as_json: bool) -> None:
    """Merge a field into another one, which keeps its own values."""
    _change(database, client_id, record, ("merge", name, into, ()), dry_run, as_json)


@custom_fields.command("merge-values")
@click.argument("name")
@click.argument("into")
@click.option("--value", "values", multiple=True, required=True, help="A value to replace; repeat it for each.")
@_dry_run
@_common
def merge_values(
    database: str | None, client_id: str, record: str, name: str, into: str, values: tuple[str, ...], dry_run: bool, as_json: bool
) -> None:
    """Replace values of a field by another one."""
    _change(database, client_id, record, ("merge_values", name, into, values), dry_run, as_json)


@custom_fields.command("set-type")
@click.argument("name")
@click.argument("kind", metavar="TYPE", type=click.Choice(FIELD_TYPES))
@_options
@click.option("--keep-misfits", is_flag=True, help="Set it although some values are not of the type.")
@_dry_run
@_common
def set_type(
    database: str | None, client_id: str, record: str, name: str, kind: str, options: tuple[str, ...], keep_misfits: bool, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Set the type of a field; refused while some values are not of it."""
    given = (kind, options)
    found = fetch(
        lambda tb: type_at_server(tb, record, name, kind, options, keep_misfits=keep_misfits, dry_run=dry_run),
        lambda: _define(database, client_id, record, name, given, is_new=False, keep_misfits=keep_misfits, dry_run=dry_run),
    )
    _print(found, as_json)


@custom_fields.command()
@click.argument("name")
@click.option("--values", is_flag=True, help="Also remove the values of all records.")
@_dry_run
@_common
def remove(database: str | None, client_id: str, record: str, name: str, values: bool, dry_run: bool, as_json: bool) -> None:
    """Remove a field, or a former name; refused while records have a value, unless --values."""
    if values or dry_run:
        _change(database, client_id, record, ("remove", name, "", ()), dry_run, as_json)
        return
    fetch(lambda tb: fields_of(tb, record).remove(id_of(_checked_name(name))), lambda: _forget(database, client_id, record, name))
    _print({"name": name, "removed": True}, as_json)


async def _list(database: str | None, client_id: str, record: str) -> list[dict[str, Any]]:
    from touchbase.custom_fields.service import list_fields

    async with opened(database) as store:
        return [_as_values(each) for each in await list_fields(store, await find_client(store, client_id), KINDS[record])]


async def _define(
    database: str | None, client_id: str, record: str, name: str, given: tuple[str, tuple[str, ...]], *, is_new: bool,
    keep_misfits: bool = False, dry_run: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Define a field, or set its type; return it, or how many values are not of the type."""
    from touchbase.custom_fields.service import check_type, list_fields
    from touchbase.custom_fields.sql import define_field

    kind, name = KINDS[record], _checked_name(name)
    declared = _type(*given)
    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        if not is_new:
            check = await check_type(store, client.number, kind, name, declared)
            if dry_run:
                return {"misfits": check.misfits, "samples": [{"id": number, "value": value} for number, value in check.samples]}
            if check.misfits and not keep_misfits:
                some = ", ".join(repr(value[:40]) for _, value in check.samples[:3])
                raise click.ClickException(
                    f"{check.misfits} values are not of this type, such as {some}; change them, or add --keep-misfits"
                )
        with explain_not_found(SEE_LIST):
            await store.write(define_field(client.number, kind, name, declared, is_new=is_new))
        client = await find_client(store, client_id)
        return _as_values((await list_fields(store, client, kind, name))[0])


def _checked_name(name: str) -> str:
    from touchbase.custom_fields.api.schemas import field_name

    return field_name(name, "NAME")


def _type(kind: Any, options: tuple[str, ...]) -> FieldType:
    from touchbase.custom_fields.api.schemas import field_type

    return field_type(kind, list(options))


def _change(
    database: str | None, client_id: str, record: str, what: tuple[Any, str, str, tuple[str, ...]], dry_run: bool, as_json: bool
) -> None:
    """Run a change as a job here, or show what it would do."""
    from touchbase.custom_fields.changes import FieldChange

    action, name, into, values = what
    change = FieldChange(action, _checked_name(name), into and _checked_name(into), tuple(dict.fromkeys(values)))
    if action in ("rename", "merge") and change.field == change.into:
        raise click.UsageError("the two names are the same")
    found = fetch(lambda tb: change_at_server(tb, record, change, dry_run), lambda: _run(database, client_id, record, change, dry_run))
    if dry_run:
        _print(found, as_json)
        return
    done = {"job": found["id"], "state": found["state"], "records": found["progress"].get("records", 0)}
    print_json(found) if as_json else print_record(done)
    if found["error"] is not None:
        raise click.ClickException(f"job {found['id']} is {found['state']}: {found['error']}")
    if found["state"] != "succeeded":
        sys.exit(1)


async def _run(database: str | None, client_id: str, record: str, change: FieldChange, dry_run: bool) -> Any:
    from touchbase.custom_fields.service import check_merge, preview_change
    from touchbase.custom_fields.sql import start_change

    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        if change.action == "merge":
            await check_merge(store, client, KINDS[record], change.field, change.into)
        if dry_run:
            with explain_not_found(SEE_LIST):
                return _preview(await preview_change(store, client, KINDS[record], change))
        with explain_not_found(SEE_LIST):
            job = await store.write(start_change(client.number, KINDS[record], change, now_us()))
        return as_values(await run_job(database, store, job), client_id)


async def _forget(database: str | None, client_id: str, record: str, name: str) -> None:
    from touchbase.custom_fields.sql import forget_field
    from touchbase.errors import WrongState

    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        try:
            with explain_not_found(SEE_LIST):
                await store.write(forget_field(client.number, KINDS[record], _checked_name(name)))
        except WrongState as error:
            raise click.ClickException(f"records have values of {name!r}; add --values to remove these too") from error


def _preview(found: Preview) -> dict[str, Any]:
    samples = [{"id": number, "before": dict(before), "after": dict(after)} for number, before, after in found.samples]
    return {"dry_run": True, "records": found.records, "samples": samples}


def _as_values(one: CustomField) -> dict[str, Any]:
    return {
        "name": one.name, "type": one.type.type, "options": one.type.options, "defined": one.is_declared, "records": one.records,
        "first_used": _time(one.first_us), "last_changed": _time(one.last_us), "former_names": one.former_names,
    }  # fmt: skip


def _time(at: int | None) -> str | None:
    return None if at is None else to_text(at)


def _print(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    samples = values.pop("samples", ())
    print_record(values)
    for each in samples:
        if "value" in each:
            click.echo(f"  {each['id']}: {each['value']!r}")
        else:
            click.echo(f"  {each['id']}: {each['before']} -> {each['after']}")
