"""`touchbase inbox, refusals`: stored webhooks (deliveries) with their states, and refused webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.inbox_remote import deliveries_at_server, print_groups, show_at_server
from touchbase.cli.inbox_replay import delivery_filter, filter_options, replay, since_option
from touchbase.cli.inbox_search import is_search, report, search, search_options, split_options, until_option
from touchbase.cli.options import ID, Group, json_option, setting_options
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, echo, escape_controls, print_json, print_record, print_table
from touchbase.cli.remote import PAGE as SERVER_PAGE
from touchbase.cli.remote import fetch, or_at_server, some, through_server
from touchbase.cli.store import explain_not_found, find_client, now_us, opened, run
from touchbase.common.timestamps import to_text
from touchbase.connections.models import CHANNELS
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.payload_fingerprint import fingerprint_parts
from touchbase.inbox.refused import CAUSES

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.inbox.api.delivery_list import DeliveryRow, PersonOut
    from touchbase.inbox.queries import DeliveryGroup
    from touchbase.inbox.service import DeliveryFilter
    from touchbase.sql.cell_answers import Before
    from touchbase.sql.store import Store

PAGE = 500
SOME = 3
"""Events and people of one delivery in a table."""
COLUMNS = (
    "id",
    "received",
    "client",
    "tool",
    "state",
    Column("event", SHORT),
    Column("person", SPARE),
    Column("channel", SPARE),
    Column("proved", SPARE),
    Column("tries", SPARE),
    Column("repeats", SPARE),
    Column("why", NOTE),
)
GROUP_COLUMNS = (
    "calls",
    "client",
    Column("channel", SPARE),
    "tool",
    "state",
    Column("event", SHORT),
    Column("keys", SPARE),
    Column("first", SPARE),
    Column("last", SPARE),
    "example",
    Column("why", NOTE),
)
REFUSAL_COLUMNS = (
    "received",
    "client",
    "looks like",
    "cause",
    "id",
    Column("calls", SPARE),
    Column("channel", SPARE),
    Column("size", SPARE),
    Column("sender", NOTE),
)
RECORD_KINDS = {CONTACT: "contact", COMPANY: "company"}


@click.group(cls=Group)
def inbox() -> None:
    """List and show deliveries, and apply them again."""


inbox.add_command(replay)


def _list_at_server(tb: Touchbase, *, limit: int, before: int | None, group: bool, as_json: bool, **options: Any) -> None:
    sought, filters = split_options(options)
    if before is not None:
        raise click.UsageError("--before goes with a store; with --url go on with --cursor, as it is printed at the end")
    if group:
        _refuse_with_group(before, sought, filters)
        chosen = {name: filters[name] for name in ("channel", "tool", "state")}
        print_groups(tb.deliveries.group(client=filters["client_id"], limit=limit, **chosen)["data"], GROUP_COLUMNS, as_json)
        return
    found = deliveries_at_server(tb, limit=limit, **sought, **{**filters, "problems": filters["problems"] or None})
    if as_json:
        print_json(found)
        return
    import msgspec

    from touchbase.inbox.api.delivery_list import DeliveryRow

    _print_rows(msgspec.convert(found, list[DeliveryRow]), as_json)


@inbox.command("list")
@or_at_server(_list_at_server)
@setting_options("database")
@search_options
@filter_options
@since_option
@until_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most deliveries to list.")
@click.option("--before", type=ID, help="Only deliveries with a lower id than this one: the next page.")
@click.option("--group", is_flag=True, help="Count similar deliveries that changed nothing, largest groups first.")
@click.option("--problems", is_flag=True, help="Only deliveries that were applied with a problem.")
@json_option()
def list_(database: str | None, limit: int, before: int | None, group: bool, as_json: bool, **options: Any) -> None:
    """List deliveries, newest first; search them by person, text and event; or list groups of deliveries that changed nothing."""
    sought, filters = split_options(options)
    if group:
        _refuse_with_group(before, sought, filters)
        _show_groups(run(_groups(database, filters, limit)), as_json)
        return
    if is_search(sought):
        if before is not None:
            raise click.UsageError("--before goes with a list; a search goes on with --cursor, as it prints at its end")
        result = run(search(database, sought, filters, limit))
        _print_rows(result.rows, as_json)
        report(result)
        return
    rows = run(_list(database, filters, limit, before))
    _print_rows(rows, as_json)
    if len(rows) == limit and not as_json:
        click.echo(f"there may be more: --before {rows[-1].id}", err=True)


def _refuse_with_group(before: int | None, sought: dict[str, Any], filters: dict[str, Any]) -> None:
    if before is not None:
        raise click.UsageError("--before goes with a list of deliveries, not with --group, which shows the largest groups")
    for name in ("since", "until"):
        if filters[f"received_{name}_us"] is not None:
            raise click.UsageError(f"--{name} goes with a list of deliveries; a group shows when its first and last were received")
    if filters["problems"]:
        raise click.UsageError("--problems goes with a list of deliveries; deliveries in groups changed nothing")
    if is_search(sought):
        raise click.UsageError("--email, --linkedin, --contact-id, --text and --event go with a list of deliveries, not with --group")


def _print_rows(rows: list[DeliveryRow], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_table(COLUMNS, map(_row, rows), empty="no delivery matches")


@inbox.command()
@or_at_server(show_at_server)
@setting_options("database")
@click.argument("delivery_id", type=ID)
@json_option("Print JSON, the body byte for byte.")
def show(database: str | None, delivery_id: int, as_json: bool) -> None:
    """Show one delivery: headers, body, and the events that it contains."""
    delivery, events = run(_show(database, delivery_id))
    if as_json:
        from touchbase.inbox.api.deliveries import delivery_detail

        print_json(delivery_detail(delivery, events))
        return
    print_record({**as_values(delivery), "verified": bool(delivery.verified)})
    _show_content(delivery)
    rows = [(event.event, to_text(event.occurred_us), RECORD_KINDS.get(event.record_kind), event.record_id) for event in events]
    print_table(("event", "occurred", "record", "id"), rows, empty="none")


def _show_content(delivery: Delivery) -> None:
    from touchbase.inbox.service import body_removal_reason

    if (reason := body_removal_reason(delivery)) is not None:
        click.echo(f"\n{reason}\n\nevents")
        return
    echo(f"query  {escape_controls(delivery.query) or '-'}\n\nheaders")
    print_record(delivery.headers, "  ")
    body = delivery.body.decode("utf-8", "replace").replace("\r\n", "\n")
    click.echo(f"\nbody\n{escape_controls(body)}\n\nevents")


def _show_groups(groups: list[DeliveryGroup], as_json: bool) -> None:
    if as_json:
        from touchbase.events.api import group_out

        print_json([group_out(each) for each in groups])
        return
    print_table(GROUP_COLUMNS, (_group_row(each) for each in groups), empty="no delivery matches")


async def _groups(database: str | None, filters: dict[str, Any], limit: int) -> list[DeliveryGroup]:
    from touchbase.inbox.service import GROUPED, group_deliveries

    if filters["state"] not in (None, *GROUPED):
        raise click.UsageError(f"--group counts deliveries that changed nothing: use --state {', '.join(GROUPED)}")
    async with opened(database) as store:
        return await group_deliveries(store, await delivery_filter(store, filters), limit)


async def _list(database: str | None, filters: dict[str, Any], limit: int, before: int | None) -> list[DeliveryRow]:
    from touchbase.inbox.api.delivery_list import rows_of

    async with opened(database) as store:
        found: list[Delivery] = []
        async for delivery in _matching(store, await delivery_filter(store, filters), before, min(limit, PAGE)):
            found.append(delivery)
            if len(found) == limit:
                break
        return [*await rows_of(store, found, {})]


async def _matching(store: Store, chosen: DeliveryFilter, before: int | None, page: int) -> AsyncIterator[Delivery]:
    from touchbase.inbox.service import list_deliveries

    end: Before | None = before
    while True:
        found, end = await list_deliveries(store, chosen, page, end)
        for delivery in found:
            yield delivery
        if end is None:
            return


async def _show(database: str | None, delivery_id: int) -> tuple[Delivery, list[StoredEvent]]:
    from touchbase.inbox.service import get_delivery

    async with opened(database) as store:
        with explain_not_found("`touchbase inbox list` shows all"):
            return await get_delivery(store, delivery_id, None)


def as_values(delivery: Delivery) -> dict[str, object]:
    """Return a delivery with the member names of the admin API."""
    import msgspec

    from touchbase.inbox.api.deliveries import delivery_out

    values: dict[str, object] = msgspec.to_builtins(delivery_out(delivery))
    return values


def _group_row(group: DeliveryGroup) -> tuple[object, ...]:
    event, keys = fingerprint_parts(group.fingerprint)
    return (
        group.count, group.client_id, group.channel, group.tool, group.state, event, " ".join(keys), to_text(group.first_us),
        to_text(group.last_us), group.example_id, group.reason,
    )  # fmt: skip


def _row(row: DeliveryRow) -> tuple[object, ...]:
    why = "; ".join([*([row.error] if row.error else []), *(each.detail for each in row.problems)])
    people = _some([_person(each) for each in row.people], row.more_events)
    return (
        row.id, row.received_at, row.client_id, row.tool, row.state, _some(row.events, row.more_events), people, row.channel,
        bool(row.verified), row.attempts, row.repeats, why,
    )  # fmt: skip


def _some(texts: list[str], more: bool) -> str | None:
    """Return the first texts, and whether there are others; None for none."""
    left = len(texts) - SOME
    tail = [f"and {left}{' or more' if more else ''} more"] if left > 0 else ["and more"] if more else []
    return ", ".join([*texts[:SOME], *tail]) or None


def _person(person: PersonOut) -> str:
    name = person.email or person.linkedin_url or "deleted"
    return f"{name} ({person.contact_id})"


@click.group(cls=Group)
def refusals() -> None:
    """List refused webhooks, show their bodies, and replay them once the secret is right."""


@refusals.command("list")
@through_server()
@setting_options("database")
@click.option("--client", "client_id", help="Only webhooks to this client's addresses.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only webhooks to this channel's address.")
@click.option("--tool", help="Only webhooks that look like this tool's.")
@click.option("--cause", type=click.Choice(tuple(CAUSES)), help="Only webhooks refused for this cause.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most webhooks to list.")
@json_option("Print JSON, headers included.")
def list_refusals(
    database: str | None, client_id: str | None, channel: str | None, tool: str | None, cause: str | None, limit: int, as_json: bool
) -> None:
    """List refused webhooks, newest first; the last 1,000 of each client are listed. The id is that of the body, if it is stored."""
    asked: Any = {"client": client_id, "channel": channel, "tool": tool, "cause": cause}
    found = fetch(
        lambda tb: some(tb.deliveries.iterate_refusals(limit=min(limit, SERVER_PAGE), **asked), limit)[0],
        lambda: _refused(database, client_id, channel, tool, cause, limit),
    )
    if as_json:
        print_json(found)
        return
    print_table(REFUSAL_COLUMNS, map(_refusal_row, found), empty="no refused webhook matches")


inbox.former = {"refused": list_refusals}


@refusals.command("show")
@through_server()
@setting_options("database")
@click.option("--client", "client_id", required=True, help="The client to whose address it was sent.")
@click.argument("refused_id")
@json_option()
def show_refused(database: str | None, client_id: str, refused_id: str, as_json: bool) -> None:
    """Show one refused webhook with its body, which is stored for some days."""
    found = fetch(lambda tb: tb.deliveries.get_refused(client_id, refused_id), lambda: _one_refused(database, client_id, refused_id))
    if as_json:
        print_json(found)
        return
    content = {name: found[name] for name in found if name not in ("headers", "query", "body")}
    print_record(content)
    if found["body"] is None:
        return
    echo(f"query  {escape_controls(found['query']) or '-'}\n\nheaders")
    print_record(found["headers"], "  ")
    click.echo(f"\nbody ({found['body']['encoding']})\n{escape_controls(found['body']['content'])}")


@refusals.command("replay")
@through_server()
@setting_options("database")
@click.option("--client", "client_id", required=True, help="The client to whose address they were sent.")
@click.option("--tool", help="The tool that sent them, if they do not look like it.")
@click.argument("refused_ids", nargs=-1, required=True)
@json_option()
def replay_refusals(database: str | None, client_id: str, tool: str | None, refused_ids: tuple[str, ...], as_json: bool) -> None:
    """Receive refused webhooks after all. Their proof is not checked again: you vouch for them, and that is recorded."""
    found = fetch(
        lambda tb: [tb.deliveries.replay_refused(client_id, refused_id, tool=tool) for refused_id in refused_ids],
        lambda: _replay_refused(database, client_id, refused_ids, tool),
    )
    if as_json:
        print_json(found)
        return
    for refused_id, replayed in zip(refused_ids, found, strict=True):
        known = ", which had been received already" if replayed["is_repeat"] else ""
        click.echo(f"{refused_id} is delivery {replayed['delivery_id']}{known}")


async def _one_refused(database: str | None, client_id: str, refused_id: str) -> Any:
    from msgspec import to_builtins

    from touchbase.inbox.api.refused import refused_out
    from touchbase.inbox.refused_replays import get_refused_body

    async with opened(database) as store:
        client = await find_client(store, client_id)
        with explain_not_found("`touchbase refusals list` shows all"):
            return to_builtins(refused_out(await get_refused_body(store, client.number, refused_id), client.client_id))


async def _replay_refused(database: str | None, client_id: str, refused_ids: tuple[str, ...], tool: str | None) -> Any:
    from touchbase.connections.commands import ListConnections
    from touchbase.inbox.refused_replays import replay_refused
    from touchbase.sandbox.pool import Sandbox

    async with opened(database) as store:
        client = await find_client(store, client_id)
        connections = await store.read(ListConnections(client.number))
        replayed = []
        with closing(Sandbox("redaction")) as sandbox, explain_not_found("`touchbase refusals list` shows all"):
            for refused_id in refused_ids:
                stored = await replay_refused(store, client, refused_id, connections, "the command line", now_us(), sandbox, tool)
                replayed.append({"delivery_id": stored.id, "is_repeat": stored.is_repeat})
        return replayed


async def _refused(
    database: str | None, client_id: str | None, channel: str | None, tool: str | None, cause: str | None, limit: int
) -> list[dict[str, Any]]:
    from msgspec import to_builtins

    from touchbase.inbox.api.refused import refusal_out
    from touchbase.inbox.refused import ListRefusals

    async with opened(database) as store:
        client = None if client_id is None else (await find_client(store, client_id)).number
        found = await store.read(ListRefusals(limit, client, channel, tool, cause))
        return [to_builtins(refusal_out(one)) for one in found]


def _refusal_row(one: dict[str, Any]) -> tuple[object, ...]:
    names = ("received_at", "client_id", "tool", "cause", "body_id", "calls", "channel", "size")
    return (*(one[name] for name in names), one["headers"].get("user-agent", ""))
