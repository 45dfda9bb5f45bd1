"""`touchbase events`: the log of everything that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ALWAYS_JSON, ID, Group, json_option
from touchbase.cli.output import NOTE, Column, output_file, print_list
from touchbase.cli.through_api import PAGE, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "time", "type", "record", "cause", Column("changed", NOTE))


@click.group(cls=Group)
def events() -> None:
    """List and follow the events of clients: everything that changed."""


@events.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only events of this client, oldest first.")
@click.option("--after", help="Only events after this id: the next page; `latest` shows only the newest id.")
@click.option("--types", help="Only these types, separated by commas, such as contact.replied,company.*.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most events to list.")
@json_option()
def list_(tb: Touchbase, client_id: str | None, after: str | None, types: str | None, limit: int, as_json: bool) -> None:
    """List events, each with the present record: of one client from the oldest on, of all the newest first."""
    if client_id is None:
        if after is not None:
            raise click.UsageError("--after: name its client with --client; the ids of events are unique within one")
        newest, has_more = page_of(tb.team.events.iterate(types=types, limit=min(limit, PAGE)), limit)
        columns = ("client", *COLUMNS)
        print_list(newest, columns, lambda event: (event["data"]["client_id"], *_row(event)), as_json=as_json, empty="no event matches")
        if has_more:
            click.echo("there are more: raise --limit, or name a client with --client", err=True)
        return
    page = tb.events.list(after=after, types=types, limit=limit)
    _print(page["data"], page["next_cursor"], page["has_more"], after, as_json=as_json)


@events.command()
@through_api(client="needed")
@click.option("--after", default="latest", show_default=True, help="Begin after this id; `evt_0`: with the first event.")
@click.option("--types", help="Only these types, separated by commas, such as contact.replied,company.*.")
def follow(tb: Touchbase, after: str, types: str | None) -> None:
    """Print events as JSON, one a line, as they happen, until Ctrl+C."""
    for event in tb.events.follow(after, types=types):
        click.echo(_line(event))


@events.command()
@through_api(client="needed")
@json_option()
def files(tb: Touchbase, as_json: bool) -> None:
    """List the files of events that were archived in object storage, oldest first."""
    columns = ("id", "state", "from", "to", "events", "bytes", Column("sha256", NOTE))
    rows = [*tb.events.iterate_files(limit=PAGE)]
    print_list(rows, columns, _file_row, as_json=as_json, empty="no events are archived: TOUCHBASE_OBJECTS_EVENTS_AFTER_DAYS says when")


@events.command()
@through_api(client="needed")
@click.argument("file_id", type=ID)
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@json_option(ALWAYS_JSON.replace("always JSON", "the file"))
def download(tb: Touchbase, file_id: int, out: Path | None, as_json: bool) -> None:
    """Write a file of archived events, Parquet: `touchbase events files` shows their ids."""
    with output_file(out, "wb") as file:
        file.writelines(tb.events.file.stream(file_id))


def _file_row(file: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(file[name] for name in ("id", "state", "from_time", "to_time", "events", "size", "sha256"))


def _print(events: Sequence[Mapping[str, Any]], cursor: str, has_more: bool, after: str | None, *, as_json: bool) -> None:
    print_list(events, COLUMNS, _row, as_json=as_json, empty="no event matches")
    if has_more or after is not None:
        click.echo(f"{'there are more' if has_more else 'this is the end'}: --after {cursor}", err=True)


def _row(event: Mapping[str, Any]) -> tuple[object, ...]:
    data = event["data"]
    changed = ", ".join(f"{name}: {before!r} -> {after!r}" for name, (before, after) in data["changed"].items())
    about = data.get("record_id") or ", ".join(f"{name}={value}" for name, value in (data["object"] or {}).items() if value is not None)
    cause = " ".join(str(data["cause"][name]) for name in ("origin", "tool") if data["cause"].get(name))
    return data["id"], event["timestamp"], event["type"], about, cause, changed or None


def _line(event: Mapping[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(event).decode()
