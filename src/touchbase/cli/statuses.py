"""`touchbase statuses`: list, add, rename, merge and remove the statuses of a client's contacts and companies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list, print_record
from touchbase.cli.store import read_text
from touchbase.cli.through_api import end_of, here, through_api, with_client_id

if TYPE_CHECKING:
    from touchbase_client import Touchbase

KINDS = ("contacts", "companies")
COLUMNS = ("status", "declared", "records", "refused", "set by Touchbase as", "role", Column("former names", NOTE))


def status_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose statuses."""
    kind = click.option("--kind", "many", type=click.Choice(KINDS), default="contacts", show_default=True, help="Whose statuses.")
    return through_api(client="needed")(kind(function))


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
def list_(tb: Touchbase, many: str, as_json: bool) -> None:
    """List the declared statuses, the used ones, and the words that Touchbase sets."""
    statuses = [*_group(tb, many).iterate()]
    print_list(statuses, COLUMNS, _row, as_json=as_json)


@statuses.command()
@status_options
@click.argument("name")
@click.option("--start-set", is_flag=True, help="Where no set is declared: declare one that begins with all present statuses.")
@json_option()
def add(tb: Touchbase, many: str, name: str, start_set: bool, as_json: bool) -> None:
    """Add a status to the declared set; events that asked for it before, and were refused, are applied."""
    from touchbase.statuses.models import RECHECK_JOBS, RECORD_KINDS

    _group(tb, many).define({"name": _name(name), "start_set": start_set})
    # A server's worker takes the job, if there is one, at once.
    started = tb.jobs.list(kind=RECHECK_JOBS[RECORD_KINDS[many]], state="queued", limit=1)["data"] if here() else []
    _print_end(end_of(tb, started[0]) if started else None, f"{name!r} is a status of {many}", as_json)


@statuses.command()
@status_options
@job_options
@click.argument("name")
@click.argument("new_name")
@json_option()
def rename(tb: Touchbase, many: str, name: str, new_name: str, dry_run: bool, no_wait: bool, as_json: bool) -> None:
    """Rename a status, everywhere and from now on, also a status that Touchbase sets.

    It waits for the job, which looks at all records once more when no earlier request can write, some ten seconds later. Ctrl+C leaves the
    job to a running server or `touchbase worker`.

    \b
    touchbase statuses rename --client acme replied Interested
    """
    _rename(tb, _group(tb, many).rename, name, new_name, "name", as_json, dry_run=dry_run, waits=not no_wait)


@statuses.command()
@status_options
@job_options
@click.argument("name")
@click.argument("into")
@json_option()
def merge(tb: Touchbase, many: str, name: str, into: str, dry_run: bool, no_wait: bool, as_json: bool) -> None:
    """Merge a status into another one, INTO. It cannot be undone.

    NAME may be a word that the declared set refused.
    """
    _rename(tb, _group(tb, many).merge, name, into, "into", as_json, dry_run=dry_run, waits=not no_wait)


@statuses.command()
@status_options
@click.argument("name")
@json_option()
def remove(tb: Touchbase, many: str, name: str, as_json: bool) -> None:
    """Remove a status, which no record has, from the declared set."""
    _group(tb, many).remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(f"removed: {name}")


def _group(tb: Touchbase, many: str) -> Any:
    return tb.contact_statuses if many == "contacts" else tb.company_statuses


def _row(status: dict[str, Any]) -> tuple[object, ...]:
    former = ", ".join(dict.fromkeys(name["name"] for name in status["former_names"]))
    words = ", ".join(status["stands_for"]) or None
    return status["name"], status["declared"], status["records"], status["refused"] or None, words, status["role"], former or None


def _name(text: str) -> str:
    from touchbase.common.field_limits import STATUS, why_not_storable

    why = why_not_storable(text) or ("it is blank, or has white space around it" if text != text.strip() or not text else None)
    if why is None and len(text) > STATUS:
        why = f"it is longer than {STATUS} characters"
    if why is not None:
        raise click.BadParameter(f"{text[:STATUS]!r} can be no status: {why}", param_hint="NAME")
    return text


def _rename(tb: Touchbase, method: Any, before: str, after: str, member: str, as_json: bool, *, dry_run: bool, waits: bool) -> None:
    body = {member: _name(after)}
    if dry_run:
        preview = method.dry_run(before, body)
        if as_json:
            print_json(preview)
            return
        shown = {"records": preview["records"], "set by Touchbase as": ", ".join(preview["stands_for"]), "declared": preview["declared"]}
        print_record(shown)
        for note in preview["notes"]:
            click.echo(note)
        return
    job = method(before, body)
    _print_end(end_of(tb, job) if waits else with_client_id(job), f"{before!r} is {after!r} from now on", as_json)


def _print_end(job: dict[str, Any] | None, done: str, as_json: bool) -> None:
    if as_json:
        print_json({"job": job})
    else:
        changed = "" if job is None else f": job {job['id']} {job['state']}, {job['progress'].get('changed', 0)} records changed"
        click.echo(done + changed)
    if job is not None and job["error"] is not None:
        raise click.ClickException(f"job {job['id']} is {job['state']}: {job['error']}")


@statuses.command()
@through_api()
@click.option(
    "--set",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Replace them by those of this JSON file, as --json prints them (- for standard input).",
)
@json_option()
def looks(tb: Touchbase, file: Path | None, as_json: bool) -> None:
    """List labels, colours, groups and keys of the team's statuses, which are the same for all clients."""
    if file is not None:
        try:
            rows: Any = json.loads(read_text(file))
        except ValueError as error:
            raise click.ClickException(f"{file} is no JSON: {error}") from None
        tb.team.statuses.replace({"data": rows})
    statuses = tb.team.statuses.list()["data"]
    names = ("name", "label", "color", "group", "key", "closes", "expected_days")
    print_list(statuses, names, names, as_json=as_json, empty="the team has decided nothing about its statuses")
