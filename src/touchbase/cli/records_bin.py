"""`touchbase contacts, companies delete, restore, merge, duplicates`: what the API does with the bin and with records that are one."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.options import ID, json_option
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_table
from touchbase.cli.through_api import PAGE, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

Record = Literal["contact", "company"]
MOST_IDS = 1_000
"""Records of one command, which are written one by one."""
SURVIVORSHIPS = ("newest", "if_empty", "keep", "most_complete")
_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


def add_bin(group: click.Group, record: Record) -> None:
    """Add the commands `delete` and `restore` to a group."""
    for name, done, about in (
        ("delete", "deleted", f"Delete {group.name}: move them into the bin, from which `restore` takes them."),
        ("restore", "restored", f"Restore deleted {group.name}: take them out of the bin, with custom fields, timelines and links."),
    ):

        def change(tb: Touchbase, ids: tuple[int, ...], dry_run: bool, as_json: bool, name: str = name, done: str = done) -> None:
            if len(ids) > MOST_IDS:
                raise click.UsageError(f"at most {MOST_IDS} ids at once")
            results = _change(group_of(tb, record), record, name, ids, dry_run)
            if as_json:
                print_json(results)
            else:
                for result in results:
                    shown = f"{record} {result['id']}"
                    click.echo(
                        f"{shown}: {result['problem']['detail']}" if "problem" in result else f"{done} {shown}", err="problem" in result
                    )
                if dry_run:
                    click.echo("nothing was stored: --dry-run", err=True)
            sys.exit(any("problem" in result for result in results))

        change.__doc__ = f"{about} Status 1 if one of them could not be."
        command: Any = group.command(name)
        argument = click.argument("ids", metavar="ID...", type=ID, nargs=-1, required=True)
        command(through_api(client="needed")(argument(_dry_run(json_option()(change)))))


def add_merge(group: click.Group, record: Record) -> None:
    """Add the command `merge` to a group."""

    @group.command("merge")
    @through_api(client="needed")
    @click.argument("survivor", type=ID)
    @click.argument("others", metavar="OTHER...", type=ID, nargs=-1, required=True)
    @click.option("--survivorship", type=click.Choice(SURVIVORSHIPS), default="if_empty", show_default=True, help="Whose values remain.")
    @_dry_run
    @json_option()
    def merge(tb: Touchbase, survivor: int, others: tuple[int, ...], survivorship: str, dry_run: bool, as_json: bool) -> None:
        """Merge records into the first one: custom fields, timelines and links move there. It can be undone over HTTP for 30 days."""
        if survivor in others or len({*others}) < len(others):
            raise click.UsageError("each record may be named once")
        body = {"with": [*others], "survivorship": survivorship}
        made = {**group_of(tb, record).merge(survivor, body, dry_run=dry_run)}
        made.pop("undo_until", None)
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
    @through_api(client="needed")
    @click.option("--min-score", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="The least score of a pair.")
    @click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most pairs to list.")
    @json_option("Print JSON, the records included.")
    def duplicates(tb: Touchbase, min_score: float, limit: int, as_json: bool) -> None:
        """List pairs of records that may be one, with a score from 0 to 1 and its reasons."""
        pairs, has_more = page_of(group_of(tb, record).iterate_duplicates(min_score=min_score, limit=min(limit, PAGE)), limit)
        if as_json:
            print_json(pairs)
        else:
            many = "contacts" if record == "contact" else "companies"
            rows = [
                (pair["score"], one["id"], _name(one), other["id"], _name(other), ", ".join(pair["reasons"]))
                for pair in pairs
                for one, other in (pair[many],)
            ]
            columns = ("score", "id", Column("record", SHORT), "id", Column("record", SHORT), Column("reasons", NOTE))
            print_table(columns, rows, empty="no pair of records seems to be one")
        if has_more:
            click.echo(f"there may be more than {limit}: raise --limit, or --min-score", err=True)


def _name(one: dict[str, Any]) -> str:
    words = [one.get(name) for name in ("first_name", "last_name", "name")]
    return " ".join([word for word in words if word]) or one.get("email") or one.get("domain") or "-"


def group_of(tb: Touchbase, record: str) -> Any:
    """Return the operations of the API on this type of record."""
    return tb.contacts if record == "contact" else tb.companies


def _change(group: Any, record: Record, name: str, ids: tuple[int, ...], dry_run: bool) -> list[dict[str, Any]]:
    """Delete or restore the records, one request each; return for each its id with the record, what would change, or a problem."""
    from touchbase_client import Problem

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
