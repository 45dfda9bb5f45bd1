"""`touchbase inbox replay`: kept webhook calls applied again, by id or by filter, in pages that can be stopped between."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.common import ID, find_client, json_option, opened, print_json, run, saying, setting_options
from touchbase.cli.durations import micros_in
from touchbase.cli.tables import harmless
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros, from_text
from touchbase.connections.models import CHANNELS
from touchbase.inbox.delivery import STATES

if TYPE_CHECKING:
    from touchbase.events.replay import Cursor, Page
    from touchbase.events.work import DryRunResult, ProcessingStore
    from touchbase.inbox.service import DeliveryFilter

F = TypeVar("F", bound=Callable[..., Any])
STOPPED = 130
"""The status of a command that Ctrl+C has ended."""


def filters(function: F) -> F:
    """The options that choose deliveries, the same as the admin API's."""
    for option in (
        click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state."),
        click.option("--tool", callback=_a_tool, help="Only this tool's calls, such as instantly or hubspot."),
        click.option("--channel", type=click.Choice(CHANNELS), help="Only this channel."),
        click.option("--client", "client_id", help="Only this client's."),
    ):
        function = option(function)
    return function


def _a_tool(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The name of a tool: a misspelt one would choose nothing, and look as if nothing had come."""
    from touchbase.adapters.registry import load_adapters

    if name is not None and not any(name in load_adapters([channel]).tools(channel) for channel in CHANNELS):
        raise click.BadParameter(f"no tool is called {name!r}: `touchbase tools` lists them")
    return name


def moment(context: click.Context, parameter: click.Parameter, text: str | None) -> Micros | None:
    """A moment given as an option: a time, or how long ago it was."""
    if text is None:
        return None
    ago = micros_in(text)
    if ago is not None:
        return max(0, time.time_ns() // 1000 - ago)
    try:
        return from_text(text.upper())
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(f"{text!r} is no time such as 2h (ago), 7d or 2026-11-20T09:30:00Z") from error


since = click.option(
    "--since",
    "--received-since",
    "received_since_us",
    callback=moment,
    metavar="TIME",
    help="Only those received then or later: 2h means two hours ago, 7d a week; or a time such as 2026-11-20T09:30:00Z.",
)


def place_of(context: click.Context, parameter: click.Parameter, text: str | None) -> Cursor | None:
    """A place given as CLIENT or CLIENT:ID."""
    if text is None:
        return None
    client_id, _, number = text.partition(":")
    if number and not (number.isdecimal() and int(number[:20]) <= LARGEST_ID):
        raise click.BadParameter(f"{text!r} is no place such as acme:1234")
    return client_id, int(number) if number else None


@dataclass(slots=True)
class Done:
    """How far a replay has come."""

    total: int = 0
    seen: int = 0
    kept: int = 0
    place: Cursor | None = None
    rehearsal: DryRunResult | None = None
    bodiless: int = 0
    """Deliveries that cannot be applied again."""
    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    each: list[dict[str, object]] | None = None
    """What would come of each delivery, collected for JSON; None: each is printed as it is tried."""

    @property
    def rest(self) -> str:
        """How to go on."""
        if self.place is None:
            return ""
        client_id, before = self.place
        return f"; go on with --from {client_id}" + ("" if before is None else f":{before}")

    @property
    def left_out(self) -> str:
        """What is to be said of those that cannot be applied again."""
        return f"; {_many(self.bodiless)} cannot be: the body was removed" if self.bodiless else ""


@click.command()
@setting_options("database")
@click.argument("delivery_ids", type=ID, nargs=-1)
@filters
@since
@click.option("--from", "place", callback=place_of, metavar="PLACE", help="Go on where a replay was stopped, as it said.")
@click.option("--dry-run", is_flag=True, help="Only say what would change; nothing is stored.")
@json_option()
def replay(
    database: str | None,
    delivery_ids: tuple[int, ...],
    received_since_us: Micros | None,
    place: Cursor | None,
    dry_run: bool,
    as_json: bool,
    **sought: str | None,
) -> None:
    """Apply deliveries again: those with these ids, or those that the filters choose.

    A replay changes nothing that the delivery has changed already. The server, or `touchbase worker`, does
    the work. Ctrl+C stops after the page at hand and says how to go on.
    """
    chosen = any(sought.values()) or received_since_us is not None
    if bool(delivery_ids) == chosen:
        raise click.UsageError("give either ids or filters: `inbox replay 17 18`, or `inbox replay --state failed`")
    if delivery_ids and place is not None:
        raise click.UsageError("--from goes with filters, not with ids")
    done = Done(place=place, each=[] if as_json else None)
    try:
        run(_replay(database, delivery_ids, {**sought, "received_since_us": received_since_us}, dry_run, done))
    except KeyboardInterrupt:
        click.echo(f"\nstopped after {done.seen} of {done.total}{done.rest}", err=True)
        sys.exit(STOPPED)
    if as_json:
        print_json(_as_values(done))
    elif dry_run:
        _tell(done)
    else:
        click.echo(f"{_many(done.kept)} will be applied again{done.left_out}")


async def sought_of(store: ProcessingStore, sought: dict[str, Any]) -> DeliveryFilter:
    """The filters of a command in the service's terms."""
    from touchbase.inbox.service import DeliveryFilter

    name = sought["client_id"]
    client = (await find_client(store, name)).number if name is not None else None
    return DeliveryFilter(
        client, sought["channel"], sought["tool"], sought["state"], sought.get("received_since_us"), sought.get("problems", False)
    )


async def _replay(database: str | None, ids: tuple[int, ...], filters: dict[str, Any], dry_run: bool, done: Done) -> None:
    from touchbase.app import clock
    from touchbase.events import replay as service
    from touchbase.events.translator_pool import TranslatorPool
    from touchbase.events.work import DryRunResult

    async with opened(database) as store:
        sought = await sought_of(store, filters)
        done.total = len(set(ids)) if ids else await service.count(store, sought, done.place)
        rehearser = service.DryRunner(store, TranslatorPool(), clock) if dry_run else None
        done.rehearsal = DryRunResult() if dry_run else None
        async for page in _by_id(store, ids) if ids else service.pages(store, sought, done.place):
            if rehearser is not None and done.rehearsal is not None:
                told = await rehearser.dry_run(page.client.number, [each.id for each in page.deliveries])
                _tell_each(told, done)
                done.bodiless += len(page.deliveries) - len(told.deliveries)
                told.deliveries.clear()
                service.add_result(done.rehearsal, told)
            else:
                kept = await service.replay_page(store, page, clock())
                done.kept, done.bodiless = done.kept + kept, done.bodiless + len(page.deliveries) - kept
            done.seen += len(page.deliveries)
            done.place = page.cursor
            if sys.stderr.isatty():
                click.echo(f"\r{done.seen} of {done.total}", err=True, nl=done.seen >= done.total)


async def _by_id(store: ProcessingStore, ids: tuple[int, ...]) -> AsyncIterator[Page]:
    from touchbase.clients.commands import ListClients
    from touchbase.events.replay import Page
    from touchbase.inbox.service import get_delivery, require_body

    clients = {client.number: client for client in await store.read(ListClients())}
    with saying("`touchbase inbox list` shows those that are there"):
        found = [(await get_delivery(store, each, None))[0] for each in dict.fromkeys(ids)]
    for delivery in found:
        require_body(delivery)
    for delivery in found:
        yield Page(clients[delivery.client], [delivery], None)


def _tell_each(told: DryRunResult, done: Done) -> None:
    for one in told.deliveries:
        done.endings[one.was, one.state] += 1
        if done.each is not None:
            done.each.append({"id": one.id, "state": one.was, "would_be": one.state, "events": one.events, "error": one.error})
            continue
        why = f": {harmless(one.error)}" if one.error else ""
        click.echo(f"{one.id}  {one.was} -> {one.state}, {one.events} events{why}")


def _as_values(done: Done) -> dict[str, object]:
    """The result in the words of the HTTP API."""
    told = done.rehearsal
    if told is None:
        return {"count": done.kept, "bodies_removed": done.bodiless}
    outcomes: Counter[str] = Counter()
    for (_, state), count in done.endings.items():
        outcomes[state] += count
    would = {"outcomes": outcomes, "records_made": told.created, "records_changed": told.changed, "fields": told.fields}
    return {"count": done.seen - done.bodiless, "bodies_removed": done.bodiless, "would": would, "deliveries": done.each}


def _tell(done: Done) -> None:
    endings = ", ".join(f"{count} {was} -> {state}" for (was, state), count in done.endings.most_common()) or "none"
    click.echo(f"{_many(done.seen - done.bodiless)} would be applied again: {endings}{done.left_out}")
    if done.rehearsal is not None:
        fields = ", ".join(f"{name} {count}" for name, count in sorted(done.rehearsal.fields.items(), key=lambda one: (-one[1], one[0])))
        told = f"{done.rehearsal.created} records would be made, {done.rehearsal.changed} would change"
        click.echo(f"{told}: {harmless(fields)}" if fields else told)


def _many(count: int) -> str:
    return f"{count} {'delivery' if count == 1 else 'deliveries'}"
