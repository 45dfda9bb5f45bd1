"""`touchbase custom-fields`: the custom fields of a client, their types, and renaming and merging them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.through_api import end_of, through_api
from touchbase.clients.models import FIELD_TYPES

if TYPE_CHECKING:
    from touchbase_client import Touchbase

Values = dict[str, Any]
COLUMNS = ("name", "type", "records", Column("last changed", SPARE), Column("former names", NOTE))
KINDS = ("contacts", "companies")


def _common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all commands of this group."""
    function = json_option()(function)
    function = click.option("--record", type=click.Choice(KINDS), default="contacts", show_default=True, help="Whose fields.")(function)
    return through_api(client="needed")(function)


_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_options = click.option("--option", "options", multiple=True, help="One value of a select; repeat it for each.")


@click.group("custom-fields", cls=Group)
def custom_fields() -> None:
    """List, define, type, rename and merge the custom fields of a client."""


@custom_fields.command("list")
@_common
def list_(tb: Touchbase, record: str, as_json: bool) -> None:
    """List the custom fields with the number of records that have a value."""
    fields = [_without_id(field) for field in _fields(tb, record).iterate()]
    if as_json:
        print_json(fields)
        return
    names = ("name", "type", "records", "last_changed")
    rows = [(*(field[name] for name in names), ", ".join(field["former_names"])) for field in fields]
    print_table(COLUMNS, rows, empty="no custom field")


@custom_fields.command()
@click.argument("name")
@click.option("--type", "kind", type=click.Choice(FIELD_TYPES), default="text", show_default=True, help="Type of its values.")
@_options
@_common
def add(tb: Touchbase, record: str, name: str, kind: str, options: tuple[str, ...], as_json: bool) -> None:
    """Define a custom field with a type."""
    _print(_without_id(_fields(tb, record).define({"name": name, "type": kind, "options": list(options)})), as_json)


@custom_fields.command()
@click.argument("name")
@click.argument("new_name")
@_dry_run
@_common
def rename(tb: Touchbase, record: str, name: str, new_name: str, dry_run: bool, as_json: bool) -> None:
    """Rename a field on all records; the old name leads to it from then on.

    It runs as a job in the command. Ctrl+C stops it after its current step, and a running server continues it; the same holds for merges.
    """
    _refuse_same(name, new_name)
    _change(tb, _fields(tb, record).change, dry_run, as_json, _id(name), {"name": new_name})


@custom_fields.command()
@click.argument("name")
@click.argument("into")
@_dry_run
@_common
def merge(tb: Touchbase, record: str, name: str, into: str, dry_run: bool, as_json: bool) -> None:
    """Merge a field into another one, which keeps its own values."""
    _refuse_same(name, into)
    _change(tb, _fields(tb, record).merge, dry_run, as_json, _id(name), {"into": into})


@custom_fields.command("merge-values")
@click.argument("name")
@click.argument("into")
@click.option("--value", "values", multiple=True, required=True, help="A value to replace; repeat it for each.")
@_dry_run
@_common
def merge_values(tb: Touchbase, record: str, name: str, into: str, values: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Replace values of a field by another one.

    \b
    touchbase custom-fields merge-values Industry Fintech --value fintech --value FinTech --client acme
    """
    body = {"values": [*dict.fromkeys(values)], "into": into}
    _change(tb, _fields(tb, record).merge_values, dry_run, as_json, _id(name), body)


@custom_fields.command("set-type")
@click.argument("name")
@click.argument("kind", metavar="TYPE", type=click.Choice(FIELD_TYPES))
@_options
@click.option("--keep-misfits", is_flag=True, help="Set it although some values are not of the type.")
@_dry_run
@_common
def set_type(
    tb: Touchbase, record: str, name: str, kind: str, options: tuple[str, ...], keep_misfits: bool, dry_run: bool, as_json: bool
) -> None:
    """Set the type of a field; refused while some values are not of it."""
    change, body = _fields(tb, record).change, {"type": kind, "options": list(options)}
    if dry_run:
        preview = change.dry_run(_id(name), body)
        _print({member: preview[member] for member in ("misfits", "samples")}, as_json)
        return
    _print(_without_id(change(_id(name), body, misfits="keep" if keep_misfits else None)), as_json)


@custom_fields.command()
@click.argument("name")
@click.option("--values", is_flag=True, help="Also remove the values of all records.")
@_dry_run
@_common
def remove(tb: Touchbase, record: str, name: str, values: bool, dry_run: bool, as_json: bool) -> None:
    """Remove a field, or a former name; refused while records have a value, unless --values."""
    method = _fields(tb, record).remove
    if values or dry_run:
        _change(tb, method, dry_run, as_json, _id(name), values="delete")
        return
    method(_id(name))
    _print({"name": name, "removed": True}, as_json)


def _fields(tb: Touchbase, record: str) -> Any:
    return tb.contact_custom_fields if record == "contacts" else tb.company_custom_fields


def _id(name: str) -> str:
    """Return a name as the address of the field has it."""
    from touchbase.custom_fields.api.schemas import field_name, id_of

    return id_of(field_name(name, "NAME"))


def _refuse_same(name: str, second: str) -> None:
    if name == second:
        raise click.UsageError("the two names are the same")


def _without_id(field: Values) -> Values:
    return {name: value for name, value in field.items() if name != "id"}


def _change(tb: Touchbase, method: Any, dry_run: bool, as_json: bool, *arguments: Any, **more: str) -> None:
    """Run a change as a job, or preview it."""
    if dry_run:
        _print({**method.dry_run(*arguments, **more)}, as_json)
        return
    job = end_of(tb, method(*arguments, **more))
    done = {"job": job["id"], "state": job["state"], "records": job["progress"].get("records", 0)}
    print_json(job) if as_json else print_record(done)
    if job["error"] is not None:
        raise click.ClickException(f"job {job['id']} is {job['state']}: {job['error']}")
    if job["state"] != "succeeded":
        sys.exit(1)


def _print(values: Values, as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    samples = values.pop("samples", ())
    print_record(values)
    for sample in samples:
        if "value" in sample:
            click.echo(f"  {sample['id']}: {sample['value']!r}")
        else:
            click.echo(f"  {sample['id']}: {sample['before']} -> {sample['after']}")
