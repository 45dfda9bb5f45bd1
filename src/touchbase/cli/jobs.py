"""`touchbase jobs`: imports, exports and other work in the background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from heapq import merge
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list, print_values
from touchbase.cli.through_api import PAGE, here, through_api
from touchbase.jobs.models import STATES

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "client", "kind", Column("file", NOTE), "state", "created", "rows", "done", Column("why", NOTE))
CLIENT_OPTION = click.option("--client", "client_id", help="With --url: the client's id, if the key is not of one client.")


@click.group(cls=Group)
def jobs() -> None:
    """List, show and cancel imports, exports and other work in the background."""


@jobs.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only jobs of this client.")
@click.option("--kind", help="Only jobs of this kind, such as contacts.import.")
@click.option("--state", type=click.Choice(STATES), help="Only jobs in this state.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most jobs to list.")
@click.option("--before", type=ID, help="Only jobs with a lower id than this one: the next page.")
@json_option()
def list_(tb: Touchbase, client_id: str | None, kind: str | None, state: Any, limit: int, before: int | None, as_json: bool) -> None:
    """List jobs, newest first."""

    def jobs_of(owner: str | None, api: Touchbase) -> Iterator[dict[str, Any]]:
        return (_with_owner(job, owner) for job in api.jobs.iterate(kind=kind, state=state, limit=min(limit, PAGE)))

    jobs = merge(*(jobs_of(*owner) for owner in _owners(tb, client_id)), key=lambda job: -job["id"])
    later = dropwhile(lambda job: before is not None and job["id"] >= before, jobs)
    page = [*islice(later, limit)]
    more = f"there may be more: --before {page[-1]['id']}" if len(page) == limit else ""
    print_list(page, COLUMNS, _row, as_json=as_json, empty="no job matches", more=more)


@jobs.command()
@through_api(client="own")
@CLIENT_OPTION
@click.argument("job_id", type=ID)
@json_option()
def show(tb: Touchbase, client_id: str | None, job_id: int, as_json: bool) -> None:
    """Show one job with its settings and counts."""
    _, job = _find(tb, client_id, job_id)
    print_values(job, as_json=as_json)


@jobs.command()
@through_api(client="own")
@CLIENT_OPTION
@click.argument("job_id", type=ID)
@json_option()
def cancel(tb: Touchbase, client_id: str | None, job_id: int, as_json: bool) -> None:
    """Cancel a job after its current step; its writes stay."""
    api, before = _find(tb, client_id, job_id)
    job = _with_owner(api.jobs.cancel(job_id), before.get("client_id"))
    if as_json:
        print_json(job)
    else:
        click.echo(f"job {job['id']} is {job['state']}")


def _owners(tb: Touchbase, client_id: str | None) -> list[tuple[str | None, Touchbase]]:
    """Return the client with its API, or without one all clients of the store; at a server, the key's client."""
    if client_id is not None or here() is None:
        return [(client_id, tb)]
    names = [client["client_id"] for client in tb.admin.clients.iterate(limit=PAGE) if client["state"] != "deleting"]
    return [(name, tb.for_client(name)) for name in names]


def _find(tb: Touchbase, client_id: str | None, job_id: int) -> tuple[Touchbase, dict[str, Any]]:
    from touchbase_client import NotFound

    owners = _owners(tb, client_id)
    if len(owners) == 1:
        owner, api = owners[0]
        return api, _with_owner(api.jobs.get(job_id), owner)
    for owner, api in owners:
        with suppress(NotFound):
            return api, _with_owner(api.jobs.get(job_id), owner)
    raise click.ClickException(f"there is no job with id {job_id}: `touchbase jobs list` shows all")


def _with_owner(job: Any, owner: str | None) -> dict[str, Any]:
    progress = {name: value for name, value in job["progress"].items() if name != "preview"}
    return {"id": job["id"], **({} if owner is None else {"client_id": owner}), **job, "progress": progress}


def _row(job: dict[str, Any]) -> tuple[object, ...]:
    progress = job["progress"]
    done = None if progress.get("percent") is None else f"{progress['percent']} %"
    file = job["settings"].get("file_name")
    return job["id"], job.get("client_id"), job["kind"], file, job["state"], job["created_at"], progress.get("rows"), done, job["error"]
