"""`touchbase inbox replay`: apply deliveries again, by id or by filter, in pages; it can be stopped between two pages."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.options import ID, json_option, point_in_time
from touchbase.cli.output import escape_controls, print_json
from touchbase.cli.store import explain_not_found, find_client
from touchbase.cli.through_api import here, through_api
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros, to_text_or_none
from touchbase.deliveries.delivery import STATES
from touchbase.history.events import CHANNELS

if TYPE_CHECKING:
    from touchbase.deliveries.work import DryRunResult, ProcessingStore
    from touchbase.inbox.replay import Cursor, ReplayPage
    from touchbase.inbox.service import DeliveryFilter
    from touchbase.routing.router import CellRouter
    from touchbase_client import Touchbase

F = TypeVar("F", bound=Callable[..., Any])


def filter_options(function: F) -> F:
    """Add the options that choose deliveries, the same as the admin API's."""
    for option in (
        click.option("--state", type=click.Choice(STATES), help="Only deliveries in this state."),
        click.option("--tool", callback=_check_tool, help="Only this tool's deliveries, such as instantly or hubspot."),
        click.option("--channel", type=click.Choice(CHANNELS), help="Only this channel's deliveries."),
        click.option("--client", "client_id", help="Only this client's deliveries."),
    ):
        function = option(function)
    return function


def _check_tool(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """Refuse an unknown tool: it would choose no delivery, as if none had been received."""
    from touchbase.adapters.registry import load_adapters

    if name is not None and not any(name in load_adapters([channel]).tools(channel) for channel in CHANNELS):
        raise click.BadParameter(f"no tool is called {name!r}: `touchbase tools` lists them")
    return name


since_option = click.option(
    "--since",
    "--received-since",
    "received_since_us",
    callback=point_in_time,
    metavar="TIME",
    help="Only deliveries received then or later: 2h is two hours ago, 7d a week; or a time such as 2026-11-20T09:30:00Z.",
)


def _parse_cursor(context: click.Context, parameter: click.Parameter, text: str | None) -> Cursor | None:
    """Parse CLIENT or CLIENT:ID."""
    if text is None:
        return None
    client_id, _, number = text.partition(":")
    if number and not (number.isdecimal() and int(number[:20]) <= LARGEST_ID):
        raise click.BadParameter(f"{text!r} is no place such as acme:1234")
    return client_id, int(number) if number else None


@dataclass(slots=True)
class _ReplayProgress:
    """How far a replay has come, and its results."""

    cursor: Cursor | None = None
    results: list[dict[str, object]] | None = None
    """Results of a dry run for each delivery, collected for JSON; None: it is printed at once."""
    total: int = 0
    done: int = 0
    queued: int = 0
    without_body: int = 0
    """Deliveries that cannot be applied again."""
    dry_run: DryRunResult | None = None
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries of a dry run by present and new state."""

    @property
    def continue_hint(self) -> str:
        """How to continue."""
        if self.cursor is None:
            return ""
        client_id, before = self.cursor
        return f"; go on with --from {client_id}" + ("" if before is None else f":{before}")

    @property
    def without_body_note(self) -> str:
        """How many deliveries cannot be applied again."""
        return f"; {_deliveries(self.without_body)} cannot be: the body was removed" if self.without_body else ""


@click.command()
@through_api()
@click.argument("delivery_ids", type=ID, nargs=-1)
@filter_options
@since_option
@click.option("--from", "cursor", callback=_parse_cursor, metavar="PLACE", help="Continue a stopped replay at the place that it printed.")
@click.option("--dry-run", is_flag=True, help="Only print what would change; nothing is stored.")
@json_option()
def replay(
    tb: Touchbase,
    delivery_ids: tuple[int, ...],
    received_since_us: Micros | None,
    cursor: Cursor | None,
    dry_run: bool,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Apply deliveries again: the given ids, or all that the filters choose.

    What a delivery has changed before is not changed again. The server, or `touchbase worker`, does
    the work. Ctrl+C stops after the current page and prints how to continue. A delivery without a body is not replayed, but counted.

    --dry-run stores nothing. It prints for each delivery its state before and after and its events, then counts by outcome and by
    changed value. It tries a hundred deliveries at a time: a contact that two hundreds would create counts twice.

    \b
    touchbase inbox replay 17 18
    touchbase inbox replay --state unrecognised --tool hubspot --since 7d --dry-run
    """
    chosen = any(filters.values()) or received_since_us is not None
    if bool(delivery_ids) == chosen:
        raise click.UsageError("give either ids or filters: `inbox replay 17 18`, or `inbox replay --state failed`")
    application = here()
    if application is None:
        _replay_at_server(tb, delivery_ids, received_since_us, cursor, dry_run, as_json, filters)
        return
    if delivery_ids and cursor is not None:
        raise click.UsageError("--from goes with filters, not with ids")
    progress = _ReplayProgress(cursor, [] if as_json else None)
    try:
        chosen_filters = {**filters, "received_since_us": received_since_us}
        application.on_store(lambda store: _replay(store, delivery_ids, chosen_filters, dry_run, progress))
    except KeyboardInterrupt:
        click.echo(f"\nstopped after {progress.done} of {progress.total}{progress.continue_hint}", err=True)
        sys.exit(STOPPED)
    if as_json:
        print_json(_as_values(progress))
    elif dry_run:
        _print_dry_run(progress)
    else:
        click.echo(f"{_deliveries(progress.queued)} will be applied again{progress.without_body_note}")


async def _delivery_filter(store: ProcessingStore, filters: dict[str, Any]) -> DeliveryFilter:
    """Return the values of `filter_options` and `since_option` as the service takes them."""
    from touchbase.inbox.service import DeliveryFilter

    name = filters["client_id"]
    client = (await find_client(store, name)).number if name is not None else None
    chosen = (client, filters["channel"], filters["tool"], filters["state"], filters.get("received_since_us"))
    return DeliveryFilter(*chosen, filters.get("problems", False), filters.get("received_until_us"))


async def _replay(store: CellRouter, ids: tuple[int, ...], filters: dict[str, Any], dry_run: bool, progress: _ReplayProgress) -> None:
    from touchbase.common.timestamps import clock
    from touchbase.deliveries.work import DryRunResult
    from touchbase.inbox.replay import DryRunner, add_result, count, pages, replay_page
    from touchbase.inbox.translator_pool import TranslatorPool

    chosen = await _delivery_filter(store, filters)
    progress.total = len(set(ids)) if ids else await count(store, chosen, progress.cursor)
    dry_runner = DryRunner(store, TranslatorPool(), clock) if dry_run else None
    progress.dry_run = DryRunResult() if dry_run else None
    async for page in _by_id(store, ids) if ids else pages(store, chosen, progress.cursor):
        if dry_runner is not None and progress.dry_run is not None:
            sizes = {delivery.id: delivery.size for delivery in page.deliveries}
            result = await dry_runner.dry_run(page.client.number, [*sizes], sizes=sizes)
            _record_dry_run(result, progress)
            progress.without_body += len(page.deliveries) - len(result.deliveries)
            result.deliveries.clear()
            add_result(progress.dry_run, result)
        else:
            queued = await replay_page(store, page, clock())
            progress.queued += queued
            progress.without_body += len(page.deliveries) - queued
        progress.done += len(page.deliveries)
        progress.cursor = page.cursor
        if sys.stderr.isatty():
            click.echo(f"\r{progress.done} of {progress.total}", err=True, nl=progress.done >= progress.total)


async def _by_id(store: ProcessingStore, ids: tuple[int, ...]) -> AsyncIterator[ReplayPage]:
    from touchbase.clients.sql.clients import list_clients
    from touchbase.inbox.replay import ReplayPage
    from touchbase.inbox.service import get_delivery, require_body

    clients = {client.number: client for client in await store.read(list_clients())}
    with explain_not_found("`touchbase inbox list` shows all"):
        deliveries = [(await get_delivery(store, number, None))[0] for number in dict.fromkeys(ids)]
    for delivery in deliveries:
        require_body(delivery)
    for delivery in deliveries:
        yield ReplayPage(clients[delivery.client], [delivery], None)


def _record_dry_run(result: DryRunResult, progress: _ReplayProgress) -> None:
    """Count the outcome of each delivery, and print or collect it."""
    from touchbase.inbox.api.replay import dry_run_values

    for values in map(dry_run_values, result.deliveries):
        progress.outcomes[values["state"], values["would_be"]] += 1
        if progress.results is not None:
            progress.results.append(values)
        else:
            _print_delivery(values)


def _print_delivery(delivery: Mapping[str, Any]) -> None:
    """Print the outcome of one delivery of a dry run, and of its records."""
    why = f": {escape_controls(delivery['error'])}" if delivery["error"] else ""
    click.echo(f"{delivery['id']}  {delivery['state']} -> {delivery['would_be']}, {delivery['events']} events{why}")
    for record in delivery["records"]:
        changes = (f"{name} {_value(now) if record['id'] is None else f'{_value(before)} -> {_value(now)}'}"
                   for name, (before, now) in record["changed"].items())  # fmt: skip
        number = "new" if record["id"] is None else record["id"]
        click.echo(f"    {record['record']} {number}: {escape_controls(', '.join(changes))}")


def _value(value: object) -> str:
    return "none" if value in (None, "") else str(value)


def _as_values(progress: _ReplayProgress) -> dict[str, object]:
    """Return the result with the member names of the admin API."""
    result = progress.dry_run
    if result is None:
        return {"count": progress.queued, "bodies_removed": progress.without_body}
    outcomes: Counter[str] = Counter()
    for (_, state), count in progress.outcomes.items():
        outcomes[state] += count
    would = {"outcomes": outcomes, "records_made": result.created, "records_changed": result.changed, "fields": result.fields}
    count = progress.done - progress.without_body
    return {"count": count, "bodies_removed": progress.without_body, "would": would, "deliveries": progress.results}


def _print_dry_run(progress: _ReplayProgress) -> None:
    outcomes = ", ".join(f"{count} {was} -> {state}" for (was, state), count in progress.outcomes.most_common()) or "none"
    click.echo(f"{_deliveries(progress.done - progress.without_body)} would be applied again: {outcomes}{progress.without_body_note}")
    if (result := progress.dry_run) is not None:
        fields = ", ".join(f"{name} {count}" for name, count in sorted(result.fields.items(), key=lambda item: (-item[1], item[0])))
        records = f"{result.created} records would be made, {result.changed} would change"
        click.echo(f"{records}: {escape_controls(fields)}" if fields else records)


def _deliveries(count: int) -> str:
    return f"{count} {'delivery' if count == 1 else 'deliveries'}"


def _replay_at_server(
    tb: Touchbase, delivery_ids: tuple[int, ...], since: Micros | None, cursor: object, dry_run: bool, as_json: bool,
    filters: dict[str, str | None],
) -> None:  # fmt: skip
    """Apply deliveries again through a server, which knows no place to go on from, and no result of each delivery."""
    if cursor is not None:
        raise click.UsageError("--from goes with a store; a server replays what matches without a stop")
    if delivery_ids and dry_run:
        raise click.UsageError("--dry-run goes with filters at a server")
    if delivery_ids:
        for number in dict.fromkeys(delivery_ids):
            tb.deliveries.replay(number)
        _print_replayed({"count": len(set(delivery_ids)), "would": None}, as_json)
        return
    received_since = to_text_or_none(since)
    body = {**filters, "client": filters["client_id"], "received_since": received_since, "dry_run": dry_run}
    del body["client_id"]
    _print_replayed(_replayed(tb, {name: value for name, value in body.items() if value is not None}), as_json)


def _replayed(tb: Touchbase, body: Any) -> dict[str, Any]:
    """Replay page after page; return the sums."""
    count, outcomes, fields, records_made, changed = 0, Counter[str](), Counter[str](), 0, 0
    deliveries: list[Mapping[str, Any]] = []
    while True:
        page = tb.deliveries.replay_matching(body)
        count += page["count"]
        if would := page["would"]:
            outcomes.update(would["outcomes"])
            fields.update(would["fields"])
            records_made, changed = records_made + would["records_made"], changed + would["records_changed"]
            deliveries += would["deliveries"]
        if page["next_cursor"] is None:
            break
        body = {**body, "cursor": page["next_cursor"]}
    total = {"outcomes": dict(outcomes), "records_made": records_made, "records_changed": changed, "fields": dict(fields)}
    total["deliveries"] = deliveries
    return {"count": count, "would": total if body.get("dry_run") else None}


NOT_READ = ("unrecognised", "failed")
"""States whose reason a new mapping is tried for."""


def rehearse(tb: Touchbase, filters: Mapping[str, Any], connection: Mapping[str, Any], as_json: bool) -> None:
    """Print the outcome of a client's stored deliveries under proposed settings of a connection; unchanged deliveries only count."""
    _print_replayed(_replayed(tb, {**filters, "dry_run": True, "connection": connection}), as_json, only_changes=True)


def _print_replayed(result: dict[str, Any], as_json: bool, only_changes: bool = False) -> None:
    if as_json:
        print_json(result)
        return
    would, many = result["would"], "1 delivery" if result["count"] == 1 else f"{result['count']} deliveries"
    if would is None:
        click.echo(f"{many} will be applied again")
        return
    for delivery in would["deliveries"]:
        if not only_changes or delivery["records"] or delivery["state"] != delivery["would_be"] or delivery["would_be"] in NOT_READ:
            _print_delivery(delivery)
    outcomes = ", ".join(f"{count} {state}" for state, count in would["outcomes"].items()) or "none"
    click.echo(f"{many} would be applied again: {outcomes}")
    click.echo(f"{would['records_made']} records would be made, {would['records_changed']} would change")
