"""`touchbase statuses`: list, add, rename, merge and remove the statuses of a client's contacts and companies."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.jobs import as_values
from touchbase.cli.options import Group, json_option, read_settings, setting_options
from touchbase.cli.output import NOTE, Column, print_json, print_record, print_table
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.statuses_remote import add_at_server, rename_at_server, statuses_of
from touchbase.cli.store import find_client, now_us, opened

if TYPE_CHECKING:
    from touchbase.events.work import ProcessingStore
    from touchbase.jobs.models import Job

Values = dict[str, Any]
KINDS = ("contacts", "companies")
COLUMNS = ("status", "declared", "records", "refused", "set by Touchbase as", "role", Column("former names", NOTE))
SHOW_SECONDS = 0.5
"""Time between two looks at a job."""


def status_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose statuses."""
    for option in (
        click.option("--kind", "many", type=click.Choice(KINDS), default="contacts", show_default=True, help="Whose statuses."),
        click.option("--client", "client_id", help=CLIENT),
    ):
        function = option(function)
    return through_server(client="needed")(setting_options("database")(function))


def job_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that start a job."""
    for option in (
        click.option("--no-wait", is_flag=True, help="Only start the job: a running server, or `touchbase worker`, does its work."),
        click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing."),
    ):
        function = option(function)
    return function


@click.group(cls=Group)
def statuses() -> None:
    """List, add, rename, merge and remove the statuses of contacts and companies."""


@statuses.command("list")
@status_options
@json_option()
def list_(database: str | None, client_id: str, many: str, as_json: bool) -> None:
    """List the declared statuses, the used ones, and the words that Touchbase sets."""
    found = fetch(lambda tb: [*statuses_of(tb, many).iterate()], lambda: _list(database, client_id, many))
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, map(_row, found))


@statuses.command()
@status_options
@click.argument("name")
@click.option("--start-set", is_flag=True, help="Where no set is declared: declare one that begins with all present statuses.")
@json_option()
def add(database: str | None, client_id: str, many: str, name: str, start_set: bool, as_json: bool) -> None:
    """Add a status to the declared set; events that asked for it before, and were refused, are applied."""
    job = fetch(lambda tb: add_at_server(tb, many, _name(name), start_set), lambda: _add(database, client_id, many, name, start_set))
    _print_end(job, f"{name!r} is a status of {many}", as_json)


@statuses.command()
@status_options
@job_options
@click.argument("name")
@click.argument("new_name")
@json_option()
def rename(database: str | None, client_id: str, many: str, name: str, new_name: str, dry_run: bool, no_wait: bool, as_json: bool) -> None:
    """Give a status another name, everywhere and from now on; also one that Touchbase sets."""
    _rename(database, client_id, many, name, new_name, as_json, merge=False, dry_run=dry_run, waits=not no_wait)


@statuses.command()
@status_options
@job_options
@click.argument("name")
@click.argument("into")
@json_option()
def merge(database: str | None, client_id: str, many: str, name: str, into: str, dry_run: bool, no_wait: bool, as_json: bool) -> None:
    """Make a status one with another one, INTO. It cannot be undone."""
    _rename(database, client_id, many, name, into, as_json, merge=True, dry_run=dry_run, waits=not no_wait)


@statuses.command()
@status_options
@click.argument("name")
@json_option()
def remove(database: str | None, client_id: str, many: str, name: str, as_json: bool) -> None:
    """Remove a status, which no record has, from the declared set."""
    fetch(lambda tb: statuses_of(tb, many).remove(name), lambda: _remove(database, client_id, many, name))
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(f"removed: {name}")


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    former = ", ".join(dict.fromkeys(each["name"] for each in one["former_names"]))
    words = ", ".join(one["stands_for"]) or None
    return one["name"], one["declared"], one["records"], one["refused"] or None, words, one["role"], former or None


async def _list(database: str | None, client_id: str, many: str) -> list[dict[str, Any]]:
    from msgspec import to_builtins

    from touchbase.statuses.api import status_out
    from touchbase.statuses.models import RECORD_KINDS
    from touchbase.statuses.sql.renames import list_statuses

    async with opened(database) as store:
        client = await find_client(store, client_id)
        return [to_builtins(status_out(each)) for each in await store.read(list_statuses(client.number, RECORD_KINDS[many]))]


async def _add(database: str | None, client_id: str, many: str, name: str, start_set: bool) -> Values | None:
    from touchbase.statuses.models import RECORD_KINDS
    from touchbase.statuses.sql.renames import define_status

    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        changed = await store.write(define_status(client.number, RECORD_KINDS[many], _name(name), start_set, now_us()))
        return None if changed.job is None else as_values(await _finished(database, store, changed.job), client_id)


async def _remove(database: str | None, client_id: str, many: str, name: str) -> None:
    from touchbase.statuses.models import RECORD_KINDS
    from touchbase.statuses.sql.renames import remove_status

    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        await store.write(remove_status(client.number, RECORD_KINDS[many], name))


def _name(text: str) -> str:
    from touchbase.common.field_limits import STATUS, why_not_storable

    why = why_not_storable(text) or ("it is blank, or has white space around it" if text != text.strip() or not text else None)
    if why is None and len(text) > STATUS:
        why = f"it is longer than {STATUS} characters"
    if why is not None:
        raise click.BadParameter(f"{text[:STATUS]!r} can be no status: {why}", param_hint="NAME")
    return text


def _rename(
    database: str | None, client_id: str, many: str, before: str, after: str, as_json: bool, *, merge: bool, dry_run: bool, waits: bool
) -> None:
    if dry_run:
        preview = fetch(
            lambda tb: rename_at_server(tb, many, before, _name(after), merge=merge, dry_run=True),
            lambda: _preview(database, client_id, many, before, _name(after), merge),
        )
        if as_json:
            print_json(preview)
            return
        said = {"records": preview["records"], "set by Touchbase as": ", ".join(preview["stands_for"]), "declared": preview["declared"]}
        print_record(said)
        for note in preview["notes"]:
            click.echo(note)
        return
    job = fetch(
        lambda tb: rename_at_server(tb, many, before, _name(after), merge=merge, waits=waits),
        lambda: _start(database, client_id, many, before, _name(after), merge, waits),
    )
    _print_end(job, f"{before!r} is {after!r} from now on", as_json)


async def _preview(database: str | None, client_id: str, many: str, before: str, after: str, merge: bool) -> Any:
    from msgspec import to_builtins

    from touchbase.statuses.api import preview_out
    from touchbase.statuses.commands import PreviewRename
    from touchbase.statuses.models import RECORD_KINDS
    from touchbase.statuses.service import previewed

    async with opened(database) as store:
        client = await find_client(store, client_id)
        return to_builtins(preview_out(await previewed(store, PreviewRename(client.number, RECORD_KINDS[many], before, after, merge))))


async def _start(database: str | None, client_id: str, many: str, before: str, after: str, merge: bool, waits: bool) -> Values:
    from touchbase.statuses.commands import RenameStatus
    from touchbase.statuses.models import RECORD_KINDS

    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        changed = await store.write(RenameStatus(client.number, RECORD_KINDS[many], before, after, merge, now_us()))
        assert changed.job is not None
        return as_values(await _finished(database, store, changed.job) if waits else changed.job, client_id)


async def _finished(database: str | None, store: ProcessingStore, job: Job) -> Job:
    """Run a job here, or wait for the process that has taken it, until it has ended."""
    from touchbase.jobs.models import ENDED
    from touchbase.jobs.sql import get_job
    from touchbase.workers import job_worker

    worker = job_worker(read_settings(database=database), store, now_us)
    try:
        while job.state not in ENDED:
            await worker.run_job(job.client, job.id)
            found = await store.read(get_job(job.client, job.id))
            if found is None:
                raise click.ClickException(f"job {job.id} was removed with its client")
            job = found
            if job.state not in ENDED:
                await asyncio.sleep(SHOW_SECONDS)
    except (asyncio.CancelledError, KeyboardInterrupt):
        click.echo(f"\nstopped; job {job.id} continues in a running server, or with `touchbase worker`", err=True)
        sys.exit(STOPPED)
    return job


def _print_end(job: Values | None, done: str, as_json: bool) -> None:
    if as_json:
        print_json({"job": job})
    else:
        changed = "" if job is None else f": job {job['id']} {job['state']}, {job['progress'].get('changed', 0)} records changed"
        click.echo(done + changed)
    if job is not None and job["error"] is not None:
        raise click.ClickException(f"job {job['id']} is {job['state']}: {job['error']}")
