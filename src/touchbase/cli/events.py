"""`touchbase events`: the log of everything that changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option, setting_options
from touchbase.cli.output import NOTE, Column, print_json, print_table
from touchbase.cli.remote import or_at_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, opened, run

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import Client
    from touchbase.event_log.commands import Page
    from touchbase.sql.store import Store

COLUMNS = ("id", "time", "type", "record", "cause", Column("changed", NOTE))
PAGE = 200
WAIT_SECONDS = 30.0


def _list_at_server(tb: Touchbase, *, client_id: str | None, after: str | None, types: str | None, limit: int, as_json: bool) -> None:
    page = tb.events.list(after=after, types=types, limit=limit)
    _print(page["data"], page["next_cursor"], page["has_more"], after, as_json=as_json)


def _follow_at_server(tb: Touchbase, *, client_id: str | None, after: str, types: str | None) -> None:
    for event in tb.events.follow(after, types=types):
        click.echo(_line(event))


@click.group(cls=Group)
def events() -> None:
    """List and follow the events of a client: everything that changed, in order."""


@events.command("list")
@or_at_server(_list_at_server, needs_client=True)
@setting_options("database")
@click.option("--client", "client_id", help=CLIENT)
@click.option("--after", help="Only events after this id: the next page; `latest` shows only the newest id.")
@click.option("--types", help="Only these types, separated by commas, such as contact.replied,company.*.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most events to list.")
@json_option()
def list_(database: str | None, client_id: str, after: str | None, types: str | None, limit: int, as_json: bool) -> None:
    """List events, oldest first, each with the present record."""
    found, cursor, has_more = run(_list(database, client_id, after, types, limit))
    _print(found, cursor, has_more, after, as_json=as_json)


def _print(found: Sequence[Mapping[str, Any]], cursor: str, has_more: bool, after: str | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, map(_row, found), empty="no event matches")
    if has_more or after is not None:
        click.echo(f"{'there are more' if has_more else 'this is the end'}: --after {cursor}", err=True)


@events.command()
@or_at_server(_follow_at_server, needs_client=True)
@setting_options("database")
@click.option("--client", "client_id", help=CLIENT)
@click.option("--after", default="latest", show_default=True, help="Begin after this id; `evt_0`: with the first event.")
@click.option("--types", help="Only these types, separated by commas, such as contact.replied,company.*.")
def follow(database: str | None, client_id: str, after: str, types: str | None) -> None:
    """Print events as JSON, one a line, as they happen, until Ctrl+C."""
    run(_follow(database, client_id, after, types))


def _row(event: Mapping[str, Any]) -> tuple[object, ...]:
    data = event["data"]
    changed = ", ".join(f"{name}: {before!r} -> {after!r}" for name, (before, after) in data["changed"].items())
    about = data.get("record_id") or ", ".join(f"{name}={value}" for name, value in (data["object"] or {}).items() if value is not None)
    cause = " ".join(str(data["cause"][name]) for name in ("origin", "tool") if data["cause"].get(name))
    return data["id"], event["timestamp"], event["type"], about, cause, changed or None


def _asked(after: str | None, types: str | None) -> tuple[int | None, list[str] | None]:
    from touchbase.errors import Fault, Invalid
    from touchbase.event_log.reading import sequence_of, types_of

    faults: list[Fault] = []
    asked = sequence_of(after, "--after", faults), types_of(types, "--types", faults)
    if faults:
        raise Invalid(faults)
    return asked


async def _list(
    database: str | None, client_id: str, after: str | None, types: str | None, limit: int
) -> tuple[list[dict[str, Any]], str, bool]:
    from touchbase.event_log.api.objects import envelopes
    from touchbase.event_log.models import event_id
    from touchbase.event_log.reading import read_page

    sequence, some = _asked(after, types)
    async with opened(database) as store:
        client = await find_client(store, client_id)
        page = await read_page(store, client.number, sequence, limit, some)
        return await envelopes(store, client, page.events), event_id(page.last), page.has_more


async def _follow(database: str | None, client_id: str, after: str, types: str | None) -> None:
    from touchbase.event_log.api.objects import envelopes

    sequence, some = _asked(after, types)
    async with opened(database) as store:
        client = await find_client(store, client_id)
        async for page in _pages(store, client, sequence, some):
            for each in await envelopes(store, client, page.events):
                click.echo(_line(each))


def _line(event: Mapping[str, Any]) -> str:
    import msgspec

    return msgspec.json.encode(event).decode()


async def _pages(store: Store, client: Client, after: int | None, types: list[str] | None) -> AsyncIterator[Page]:
    from touchbase.event_log.feed import Feed
    from touchbase.event_log.reading import read_page

    feed = Feed(store)
    page = await read_page(store, client.number, after, PAGE, types)
    while True:
        if page.events:
            yield page
        if not page.has_more:
            await feed.wait(client.number, page.last, WAIT_SECONDS)
        page = await read_page(store, client.number, page.last, PAGE, types)
