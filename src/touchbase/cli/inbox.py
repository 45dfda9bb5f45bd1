"""`touchbase inbox`: kept webhook calls, where each stands, and applying them again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.common import ID, Group, json_option, opened, print_json, run, saying, setting_options
from touchbase.cli.inbox_replay import filters, replay, since, sought_of
from touchbase.cli.refusals import list_ as refusals
from touchbase.cli.tables import NOTE, SHORT, SPARE, Column, echo, harmless, print_record, print_table
from touchbase.common.timestamps import to_text
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.problems import described
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.payload_fingerprint import fingerprint_parts

if TYPE_CHECKING:
    from touchbase.inbox.queries import DeliveryGroup
    from touchbase.inbox.service import DeliveryFilter
    from touchbase.sql.store import Store

PAGE = 500
COLUMNS = (
    "id",
    "received",
    "client",
    Column("channel", SPARE),
    "tool",
    "state",
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
RECORD_KINDS = {CONTACT: "contact", COMPANY: "company"}


@click.group(cls=Group)
def inbox() -> None:
    """List and show deliveries, and apply them again."""


inbox.add_command(replay)
inbox.former = {"refused": refusals}


@inbox.command("list")
@setting_options("database")
@filters
@since
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most deliveries to list.")
@click.option("--before", type=ID, help="Only deliveries with an id below this one: the next page.")
@click.option("--group", is_flag=True, help="Count those that changed nothing and look alike, largest groups first.")
@click.option("--problems", is_flag=True, help="Only those that were applied with a problem.")
@json_option()
def list_(database: str | None, limit: int, before: int | None, group: bool, as_json: bool, **sought: Any) -> None:
    """List deliveries, newest first, or groups of those that changed nothing."""
    if group:
        if before is not None:
            raise click.UsageError("--before goes with a list of deliveries, not with --group, which shows the largest groups")
        if sought["received_since_us"] is not None:
            raise click.UsageError("--since goes with a list of deliveries; a group tells when its first and last came")
        if sought["problems"]:
            raise click.UsageError("--problems goes with a list of deliveries: those in groups changed nothing")
        _show_groups(run(_groups(database, sought, limit)), as_json)
        return
    found = run(_list(database, sought, limit, before))
    if as_json:
        print_json([as_values(delivery) for delivery in found])
        return
    print_table(COLUMNS, (_row(delivery) for delivery in found), empty="no delivery matches")
    if len(found) == limit:
        click.echo(f"there may be more: --before {found[-1].id}", err=True)


@inbox.command()
@setting_options("database")
@click.argument("delivery_id", type=ID)
@json_option("Print JSON, the body byte for byte.")
def show(database: str | None, delivery_id: int, as_json: bool) -> None:
    """Show one delivery: headers, body, and the events that it caused."""
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

    if (gone := body_removal_reason(delivery)) is not None:
        click.echo(f"\n{gone}\n\nevents")
        return
    echo(f"query  {harmless(delivery.query) or '-'}\n\nheaders")
    print_record(delivery.headers, "  ")
    body = delivery.body.decode("utf-8", "replace").replace("\r\n", "\n")
    click.echo(f"\nbody\n{harmless(body)}\n\nevents")


def _show_groups(groups: list[DeliveryGroup], as_json: bool) -> None:
    if as_json:
        from touchbase.events.api import group_out

        print_json([group_out(each) for each in groups])
        return
    print_table(GROUP_COLUMNS, (_group_row(each) for each in groups), empty="no delivery matches")


async def _groups(database: str | None, sought: dict[str, Any], limit: int) -> list[DeliveryGroup]:
    from touchbase.inbox.service import GROUPED, group_deliveries

    if sought["state"] not in (None, *GROUPED):
        raise click.UsageError(f"groups are of deliveries that changed nothing: --state {', '.join(GROUPED)}")
    async with opened(database) as store:
        return await group_deliveries(store, await sought_of(store, sought), limit)


async def _list(database: str | None, sought: dict[str, Any], limit: int, before: int | None) -> list[Delivery]:
    async with opened(database) as store:
        found: list[Delivery] = []
        async for delivery in _matching(store, await sought_of(store, sought), before, min(limit, PAGE)):
            found.append(delivery)
            if len(found) == limit:
                break
        return found


async def _matching(store: Store, sought: DeliveryFilter, before: int | None, page: int) -> AsyncIterator[Delivery]:
    from touchbase.inbox.service import list_deliveries

    while True:
        found, before = await list_deliveries(store, sought, page, before)
        for delivery in found:
            yield delivery
        if before is None:
            return


async def _show(database: str | None, delivery_id: int) -> tuple[Delivery, list[StoredEvent]]:
    from touchbase.inbox.service import get_delivery

    async with opened(database) as store:
        with saying("`touchbase inbox list` shows those that are there"):
            return await get_delivery(store, delivery_id, None)


def as_values(delivery: Delivery) -> dict[str, object]:
    """A delivery as plain values, in the words of the admin API."""
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


def _why(delivery: Delivery) -> str:
    return "; ".join([*([delivery.error] if delivery.error else []), *(detail for _, detail in described(delivery.problems))])


def _row(delivery: Delivery) -> tuple[object, ...]:
    return (
        delivery.id, to_text(delivery.received_us), delivery.client_id, delivery.channel, delivery.tool,
        delivery.state, bool(delivery.verified), delivery.attempts, delivery.repeats, _why(delivery),
    )  # fmt: skip
