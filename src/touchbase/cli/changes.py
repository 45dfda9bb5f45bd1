"""`touchbase changes`: what was done to many records at once, and its revert."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list, print_record, print_values
from touchbase.cli.through_api import CLIENT_ID, PAGE, end_of, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "client", "time", "kind", "state", "by", Column("counts", NOTE))
CHANGE = click.argument("change_id")


@click.group(cls=Group)
def changes() -> None:
    """List imports, changes of many records, merges and deletions, and revert them."""


@changes.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only changes of this client.")
@click.option("--kind", help="Only this kind, such as import.")
@click.option("--state", help="Only in this state, such as open.")
@click.option("--actor", help="Only by this person or key: its id, or me.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most changes to list.")
@json_option()
def list_(tb: Touchbase, client_id: str | None, kind: Any, state: Any, actor: str | None, limit: int, as_json: bool) -> None:
    """List changes, newest first."""
    found = tb.team.changes.iterate(client_id=client_id, kind=kind, state=state, actor_id=actor, limit=min(limit, PAGE))
    page, has_more = page_of(found, limit)
    print_list(page, COLUMNS, _row, as_json=as_json, empty="no change matches", more="there are more: raise --limit" if has_more else "")


@changes.command()
@through_api(client="needed")
@CHANGE
@json_option()
def show(tb: Touchbase, change_id: str, as_json: bool) -> None:
    """Show one change: who made it, what it did, and until when it can be reverted."""
    changed = tb.team.changes.summary(_client(), change_id)
    print_values({**tb.team.changes.get(_client(), change_id), "changed": changed}, as_json=as_json)


@changes.command()
@through_api(client="needed")
@CHANGE
@click.option("--dry-run", is_flag=True, help="Only count what would go back, and list what would stay.")
@json_option()
def revert(tb: Touchbase, change_id: str, dry_run: bool, as_json: bool) -> None:
    """Take a change back, except what somebody changed since.

    It runs as a job. Ctrl+C stops waiting; a running server continues it.
    """
    job = end_of(tb, tb.team.changes.revert(_client(), change_id, dry_run=dry_run))
    progress = dict(job["progress"])
    listed = progress.pop("listed", [])
    if as_json:
        print_json(job)
    else:
        print_record({"job": job["id"], "state": job["state"], **progress})
        print_list(listed, ("record", "id", Column("stays", NOTE)), ("record", "id", "reason"), as_json=False, empty="nothing stays")
    if job["state"] != "succeeded":
        click.echo(f"job {job['id']} is {job['state']}: {job['error']}", err=True)
        sys.exit(1)


def _client() -> str:
    client: str | None = click.get_current_context().meta[CLIENT_ID]
    if client is None:
        raise click.UsageError("Missing option '--client'.")
    return client


def _row(change: dict[str, Any]) -> tuple[object, ...]:
    counts = ", ".join(f"{count} {name}" for name, count in change["counts"].items())
    by = change["actor"]["name"] or change["actor"]["id"]
    return change["id"], change["client_id"], change["at"], change["kind"], change["state"], by, counts
