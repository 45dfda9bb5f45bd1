"""`touchbase jobs`: imports, exports and other work in the background."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option, setting_options
from touchbase.cli.output import NOTE, Column, print_json, print_record, print_table
from touchbase.cli.remote import or_at_server
from touchbase.cli.store import find_client, now_us, opened, run
from touchbase.common.timestamps import Micros, to_text
from touchbase.jobs.models import STATES, Job

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.client.models import JobOut, JobState
    from touchbase.sql.store import Store

PAGE = 200
COLUMNS = ("id", "client", "kind", "state", "created", "rows", "done", Column("why", NOTE))


@click.group(cls=Group)
def jobs() -> None:
    """List, show and cancel imports, exports and other work in the background."""


def _list_at_server(
    tb: Touchbase, *, client_id: str | None, kind: str | None, state: JobState | None, limit: int, before: int | None, as_json: bool
) -> None:
    if before is not None:
        raise click.UsageError("--before goes with a store; with --url raise --limit")
    found = [*islice(tb.jobs.iterate(kind=kind, state=state, limit=min(limit, PAGE)), limit)]
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, (_row_of(job, client_id) for job in found), empty="no job matches")


def _show_at_server(tb: Touchbase, *, job_id: int, as_json: bool) -> None:
    job = tb.jobs.get(job_id)
    if as_json:
        print_json(job)
    else:
        print_record(job)


def _cancel_at_server(tb: Touchbase, *, job_id: int, as_json: bool) -> None:
    job = tb.jobs.cancel(job_id)
    if as_json:
        print_json(job)
    else:
        click.echo(f"job {job['id']} is {job['state']}")


def _row_of(job: JobOut, client_id: str | None) -> tuple[object, ...]:
    progress = job["progress"]
    done = None if progress.get("percent") is None else f"{progress['percent']} %"
    return job["id"], client_id, job["kind"], job["state"], job["created_at"], progress.get("rows"), done, job["error"]


@jobs.command("list")
@or_at_server(_list_at_server)
@setting_options("database")
@click.option("--client", "client_id", help="Only jobs of this client.")
@click.option("--kind", help="Only jobs of this kind, such as contacts.import.")
@click.option("--state", type=click.Choice(STATES), help="Only jobs in this state.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most jobs to list.")
@click.option("--before", type=ID, help="Only jobs with a lower id than this one: the next page.")
@json_option()
def list_(
    database: str | None, client_id: str | None, kind: str | None, state: str | None, limit: int, before: int | None, as_json: bool
) -> None:
    """List jobs, newest first."""
    found = run(_list(database, client_id, (limit, before, kind, state)))
    if as_json:
        print_json([as_values(job, client) for job, client in found])
        return
    print_table(COLUMNS, (_row(job, client) for job, client in found), empty="no job matches")
    if len(found) == limit:
        click.echo(f"there may be more: --before {found[-1][0].id}", err=True)


@jobs.command()
@or_at_server(_show_at_server, of_client=True)
@setting_options("database")
@click.argument("job_id", type=ID)
@json_option()
def show(database: str | None, job_id: int, as_json: bool) -> None:
    """Show one job with its settings and counts."""
    job, client = run(_show(database, job_id))
    values = as_values(job, client)
    if as_json:
        print_json(values)
    else:
        print_record(values)


@jobs.command()
@or_at_server(_cancel_at_server, of_client=True)
@setting_options("database")
@click.argument("job_id", type=ID)
@json_option()
def cancel(database: str | None, job_id: int, as_json: bool) -> None:
    """Cancel a job after its current step; what it has written stays."""
    job, client = run(_cancel(database, job_id))
    if as_json:
        print_json(as_values(job, client))
    else:
        click.echo(f"job {job.id} is {job.state}")


def as_values(job: Job, client_id: str) -> dict[str, Any]:
    """Return a job as JSON shows it, with the members of the API."""
    progress = {name: value for name, value in job.progress.items() if name != "preview"}
    return {
        "id": job.id, "client_id": client_id, "kind": job.kind, "state": job.state, "created_at": to_text(job.created_us),
        "started_at": _time(job.started_us), "finished_at": _time(job.finished_us), "settings": job.settings, "progress": progress,
        "error": job.error, "files_until": _time(job.files_until_us),
    }  # fmt: skip


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_text(at)


def _row(job: Job, client_id: str) -> tuple[object, ...]:
    percent = job.progress.get("percent")
    done = None if percent is None else f"{percent} %"
    return job.id, client_id, job.kind, job.state, to_text(job.created_us), job.progress.get("rows"), done, job.error


async def _named(store: Store, found: list[Job]) -> list[tuple[Job, str]]:
    from touchbase.clients.commands import FindClientByNumber

    names: dict[int, str] = {}
    for number in {job.client for job in found}:
        client = await store.read(FindClientByNumber(number))
        names[number] = str(number) if client is None else client.client_id
    return [(job, names[job.client]) for job in found]


async def _list(database: str | None, client_id: str | None, page: tuple[Any, ...]) -> list[tuple[Job, str]]:
    from touchbase.jobs.commands import ListJobs

    async with opened(database) as store:
        client = None if client_id is None else (await find_client(store, client_id)).number
        return await _named(store, await store.read(ListJobs(client, *page)))


async def _show(database: str | None, job_id: int) -> tuple[Job, str]:
    async with opened(database) as store:
        return (await _named(store, [await _get(store, job_id)]))[0]


async def _get(store: Store, job_id: int) -> Job:
    from touchbase.jobs.sql import get_job

    job = await store.read(get_job(None, job_id))
    if job is None:
        raise click.ClickException(f"there is no job with id {job_id}: `touchbase jobs list` shows all")
    return job


async def _cancel(database: str | None, job_id: int) -> tuple[Job, str]:
    from touchbase.cli.options import read_settings
    from touchbase.jobs.models import CANCELLED, DUE, ENDED, PREVIEW
    from touchbase.jobs.sql import change_job
    from touchbase.workers import job_files_us

    async with opened(database) as store:
        job = await _get(store, job_id)
        if job.state not in ENDED:
            until = now_us() + job_files_us(read_settings(database=database))
            job = await store.write(change_job(job.client, job.id, (PREVIEW, *DUE), CANCELLED, now_us(), files_until_us=until))
        return (await _named(store, [job]))[0]
