"""`touchbase contacts, companies delete, restore, merge, duplicates`: what the API does with the bin and with records that are one."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.options import ID, json_option, read_settings, setting_options
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_table
from touchbase.cli.remote import PAGE, fetch, some, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us, opened
from touchbase.errors import NotFound, TouchbaseError

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import Client
    from touchbase.merging.models import Merge
    from touchbase.records.api.resource_type import ResourceType
    from touchbase.sql.operation import Command
    from touchbase.sql.store import Store

Record = Literal["contact", "company"]
MOST_IDS = 1_000
"""Records of one command: they are one transaction."""
SURVIVORSHIPS = ("newest", "if_empty", "keep", "most_complete")
_client = click.option("--client", "client_id", help=CLIENT)
_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


def add_bin(group: click.Group, record: Record) -> None:
    """Add the commands `delete` and `restore` to a group."""
    for name, done, about in (
        ("delete", "deleted", f"Delete {group.name}: move them into the bin, from which `restore` takes them."),
        ("restore", "restored", f"Restore deleted {group.name}: take them out of the bin, with custom fields, timelines and links."),
    ):

        def change(
            database: str | None, client_id: str, ids: tuple[int, ...], dry_run: bool, as_json: bool, name: str = name, done: str = done
        ) -> None:
            if len(ids) > MOST_IDS:
                raise click.UsageError(f"at most {MOST_IDS} ids at once")
            results = fetch(
                lambda tb: _change_at_server(group_of(tb, record), record, name, ids, dry_run),
                lambda: _change(database, client_id, record, name, ids, dry_run),
            )
            if as_json:
                print_json(results)
            else:
                for each in results:
                    shown = f"{record} {each['id']}"
                    click.echo(f"{shown}: {each['problem']['detail']}" if "problem" in each else f"{done} {shown}", err="problem" in each)
                if dry_run:
                    click.echo("nothing was stored: --dry-run", err=True)
            sys.exit(any("problem" in each for each in results))

        change.__doc__ = f"{about} Status 1 if one of them could not be."
        command: Any = group.command(name)
        argument = click.argument("ids", metavar="ID...", type=ID, nargs=-1, required=True)
        command(through_server(client="needed")(setting_options("database")(_client(argument(_dry_run(json_option()(change)))))))


def add_merge(group: click.Group, record: Record) -> None:
    """Add the command `merge` to a group."""

    @group.command("merge")
    @through_server(client="needed")
    @setting_options("database")
    @_client
    @click.argument("survivor", type=ID)
    @click.argument("others", metavar="OTHER...", type=ID, nargs=-1, required=True)
    @click.option("--survivorship", type=click.Choice(SURVIVORSHIPS), default="if_empty", show_default=True, help="Whose values remain.")
    @_dry_run
    @json_option()
    def merge(
        database: str | None, client_id: str, survivor: int, others: tuple[int, ...], survivorship: str, dry_run: bool, as_json: bool
    ) -> None:
        """Merge records into the first one: custom fields, timelines and links move there. It can be undone over HTTP for 30 days."""
        if survivor in others or len({*others}) < len(others):
            raise click.UsageError("each record may be named once")
        try:
            made = fetch(
                lambda tb: _merge_at_server(group_of(tb, record), survivor, list(others), survivorship, dry_run),
                lambda: _merge(database, client_id, record, survivor, list(others), survivorship, dry_run),
            )
        except TouchbaseError as error:
            raise click.ClickException(error.detail) from error
        if as_json:
            print_json(made)
            return
        rows = [tuple(each[name] for name in ("field", "value", "from_id", "before")) for each in made["fields"]]
        print_table((Column("field"), Column("value", SHORT), Column("from"), Column("before", SHORT)), rows)
        merged = " and ".join(map(str, made["merged"]))
        word = "would be merged" if made["merge_id"] is None else f"merged (merge {made['merge_id']})"
        click.echo(f"{record} {merged} {word} into {survivor}", err=True)


def add_duplicates(group: click.Group, record: Record) -> None:
    """Add the command `duplicates` to a group."""

    @group.command("duplicates")
    @through_server(client="needed")
    @setting_options("database")
    @_client
    @click.option("--min-score", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="The least score of a pair.")
    @click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most pairs to list.")
    @json_option("Print JSON, the records included.")
    def duplicates(database: str | None, client_id: str, min_score: float, limit: int, as_json: bool) -> None:
        """List pairs of records that may be one, with a score from 0 to 1 and its reasons."""
        pairs, has_more = fetch(
            lambda tb: some(group_of(tb, record).iterate_duplicates(min_score=min_score, limit=min(limit, PAGE)), limit),
            lambda: _duplicates(database, client_id, record, min_score, limit),
        )
        if as_json:
            print_json(pairs)
        else:
            many = "contacts" if record == "contact" else "companies"
            rows = [
                (each["score"], one["id"], _name(one), other["id"], _name(other), ", ".join(each["reasons"]))
                for each in pairs
                for one, other in (each[many],)
            ]
            columns = ("score", "id", Column("record", SHORT), "id", Column("record", SHORT), Column("reasons", NOTE))
            print_table(columns, rows, empty="no pair of records seems to be one")
        if has_more:
            click.echo(f"there may be more than {limit}: raise --limit, or --min-score", err=True)


def _name(one: dict[str, Any]) -> str:
    words = [one.get(name) for name in ("first_name", "last_name", "name")]
    return " ".join([each for each in words if each]) or one.get("email") or one.get("domain") or "-"


def group_of(tb: Touchbase, record: Record) -> Any:
    """Return the operations of a server on this type of record."""
    return tb.contacts if record == "contact" else tb.companies


def _change_at_server(group: Any, record: Record, name: str, ids: tuple[int, ...], dry_run: bool) -> list[dict[str, Any]]:
    """Delete or restore the records, one request each; return what `_change` does."""
    from touchbase.client import Problem

    results: list[dict[str, Any]] = []
    method = getattr(group, name)
    for number in ids:
        try:
            results.append({"id": number, **({"changed": method.dry_run(number)["changed"]} if dry_run else {record: method(number)})})
        except Problem as problem:
            if problem.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise
            results.append({"id": number, "problem": {"code": problem.code, "detail": problem.detail}})
    return results


def _merge_at_server(group: Any, survivor: int, others: list[int], survivorship: str, dry_run: bool) -> dict[str, Any]:
    made = group.merge(survivor, {"with": others, "survivorship": survivorship}, dry_run=dry_run)
    return {name: value for name, value in made.items() if name != "undo_until"}


def _kind(record: Record) -> ResourceType[Any, Any, Any]:
    from touchbase.records.api.resource_type import COMPANIES, CONTACTS

    return CONTACTS if record == "contact" else COMPANIES


async def _change(
    database: str | None, client_id: str, record: Record, name: str, ids: tuple[int, ...], dry_run: bool
) -> list[dict[str, Any]]:
    """Delete or restore the records; return for each its id with the record, or with the fields that would change, or with a problem."""
    import msgspec

    from touchbase.bin.commands import DeleteRecord, RestoreRecord
    from touchbase.records.api.previews import fields_changed
    from touchbase.records.commands import new_write_key
    from touchbase.records.write_batch import Preview, WriteBatch, record_of

    kind = _kind(record)
    results: list[dict[str, Any]] = []
    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        made = DeleteRecord if name == "delete" else RestoreRecord
        commands: list[Command[Any]] = [made(client.number, kind.type.kind, number, now_us(), new_write_key()) for number in ids]
        outcomes = await store.write(WriteBatch(client.number, commands, dry_run=dry_run))
        for number, outcome in zip(ids, outcomes, strict=True):
            ended = outcome.outcome if isinstance(outcome, Preview) else outcome
            if isinstance(ended, TouchbaseError):
                problem = await _problem(store, client, kind, number, ended) if name == "delete" else ended
                results.append({"id": number, "problem": {"code": problem.code, "detail": problem.detail, **problem.data}})
            elif isinstance(outcome, Preview):
                changed = fields_changed(kind, outcome, client.settings)
                results.append({"id": number, "changed": msgspec.to_builtins(changed)})
            else:
                results.append({"id": number, record: msgspec.to_builtins(kind.out(record_of(ended), False, client.settings))})
    return results


async def _problem(store: Store, client: Client, kind: ResourceType[Any, Any, Any], number: int, error: TouchbaseError) -> TouchbaseError:
    """Return the error, and for a record that does not exist one that says whether it was deleted or merged."""
    from touchbase.records.read_records import get_record

    try:
        await get_record(store, kind.type, client.number, number)
    except NotFound as missing:
        return missing
    return error


async def _merge(
    database: str | None, client_id: str, record: Record, survivor: int, others: list[int], survivorship: str, dry_run: bool
) -> dict[str, Any]:
    from touchbase.merging.commands import MergeRecords
    from touchbase.merging.models import Policy
    from touchbase.merging.sql.merge import preview_merge
    from touchbase.records.commands import new_write_key
    from touchbase.records.read_records import get_record

    kind, policy = _kind(record), Policy(survivorship)
    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        for number in (survivor, *others):
            await get_record(store, kind.type, client.number, number)  # its error says whether the record was deleted or merged
        if not dry_run:
            command = MergeRecords(client.number, kind.type.kind, survivor, others, policy, now_us(), new_write_key())
            return _merge_out(client, kind, await store.write(command))
        found = await store.read(preview_merge(client.number, kind.type.kind, survivor, others, policy, now_us()))
        if found is None:
            raise NotFound("one of these records has just been removed; run the command again")
        return _merge_out(client, kind, found)


def _merge_out(client: Client, kind: ResourceType[Any, Any, Any], made: Merge) -> dict[str, Any]:
    fields = [
        {"field": each.name, "value": each.value, "from_id": each.source, "before": each.before, "custom": each.is_custom}
        for each in made.fields
    ]
    shown = kind.out(made.record, False, client.settings)
    return {"merge_id": made.id, "merged": made.absorbed, "fields": fields, kind.type.name: shown}


async def _duplicates(database: str | None, client_id: str, record: Record, least: float, limit: int) -> tuple[list[dict[str, Any]], bool]:
    from touchbase.duplicates.service import find_duplicates

    kind, page_bytes = _kind(record), read_settings().page_bytes
    pairs: list[dict[str, Any]] = []
    async with opened(database) as store:
        client = await find_client(store, client_id)
        place = None
        while True:
            page, place = await find_duplicates(store, client.number, kind.type.kind, limit - len(pairs), place, least, page_bytes)
            for pair in page:
                records = [kind.out(one, False, client.settings) for one in (pair.one, pair.other)]
                pairs.append({"score": pair.similarity.score, "reasons": pair.similarity.reasons, kind.type.plural: records})
            if place is None or len(pairs) >= limit:
                import msgspec

                return msgspec.to_builtins(pairs), place is not None
