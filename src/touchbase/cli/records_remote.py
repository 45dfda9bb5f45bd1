"""`touchbase contacts, companies` through the API of a server: lists and searches, and records to get, create and update."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, json_option
from touchbase.cli.output import print_json, print_record
from touchbase.cli.remote import at_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client import Touchbase

PAGE = 200
CUSTOM = {"contact": "contact_custom_fields_input", "company": "company_custom_fields"}
CUSTOM_PREFIX = "cf."
VALUES = click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only print what would change; nothing is stored.")


def pairs_of(filters: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return filters as names with operators, and values."""
    wrong = [each for each in filters if "=" not in each]
    if wrong:
        raise click.UsageError(f"--filter {wrong[0]!r} has no value: give NAME=VALUE or NAME[OPERATOR]=VALUE")
    return [(name, value) for name, _, value in (each.partition("=") for each in filters)]


def find_at_server(
    tb: Touchbase, kind: str, q: str | None, *, client_id: str | None, filters: tuple[str, ...], sort: str | None, limit: int
) -> tuple[list[Mapping[str, Any]], bool]:
    """Return up to `limit` records, and whether there are more."""
    pairs = pairs_of(filters)
    if len({name for name, _ in pairs}) < len(pairs):
        raise click.UsageError("--filter is given twice for one name; with --url give several values as NAME[in]=VALUE,VALUE")
    group: Any = _group(tb, kind)
    found = [*islice(group.iterate(q=q, sort=sort, filters=dict(pairs), limit=min(PAGE, limit + 1)), limit + 1)]
    return found[:limit], len(found) > limit


def add_single(group: click.Group, kind: str) -> None:
    """Add the commands `get`, `create` and `update` to a group."""

    @group.command("get")
    @at_server
    @click.argument("record_id", type=ID)
    @json_option()
    def get(tb: Touchbase, record_id: int, as_json: bool) -> None:
        _print(_group(tb, kind).get(record_id, structure="FLAT"), as_json)

    @group.command("create")
    @at_server
    @VALUES
    @DRY_RUN
    @json_option()
    def create(tb: Touchbase, values: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
        method = _group(tb, kind).create
        _print((method.dry_run if dry_run else method)(body_of(kind, values), structure="FLAT"), as_json)

    @group.command("update")
    @at_server
    @click.argument("record_id", type=ID)
    @VALUES
    @DRY_RUN
    @json_option()
    def update(tb: Touchbase, record_id: int, values: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
        method = _group(tb, kind).update
        _print((method.dry_run if dry_run else method)(record_id, body_of(kind, values), structure="FLAT"), as_json)

    example = "email=ann@example.com contact_status=new" if kind == "contact" else "domain=example.com company_status=new"
    fields = f"Give fields as the API names them, such as {example}; cf.NAME is a custom field."
    get.help = f"Show one {kind}."
    create.help = f"Create a {kind}.\n\n{fields}"
    update.help = f"Change fields of one {kind}; the others stay.\n\n{fields} A blank value unsets a field."


def body_of(kind: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Return the body that `FIELD=VALUE` arguments describe."""
    body: dict[str, Any] = {}
    for each in values:
        name, mark, value = each.partition("=")
        if not mark or not name:
            raise click.UsageError(f"{each!r} has no value: give FIELD=VALUE, or FIELD= to unset it")
        if name.startswith(CUSTOM_PREFIX):
            custom = {"field_name": name.removeprefix(CUSTOM_PREFIX), "field_value": value or None}
            body.setdefault(CUSTOM[kind], []).append(custom)
        elif name in body:
            raise click.UsageError(f"{name} is given twice")
        else:
            body[name] = int(value) if name == "company_id" and value.isascii() and value.isdigit() else value
    return body


def _group(tb: Touchbase, kind: str) -> Any:
    return tb.contacts if kind == "contact" else tb.companies


def _print(values: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    changed = values.get("changed")
    shown = values if changed is None else {**values, "changed": {each["field"]: each["value"] for each in changed}}
    print_record(shown)
