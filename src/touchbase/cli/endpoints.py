"""`touchbase endpoints`: webhook endpoints of clients, their attempts, replays and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.endpoints_add import add
from touchbase.cli.endpoints_preview import preview
from touchbase.cli.options import ID, Group, json_option, point_in_time
from touchbase.cli.output import SPARE, Column, print_json, print_record, print_table
from touchbase.cli.through_api import PAGE, page_of, through_api
from touchbase.common.timestamps import Micros, to_text
from touchbase.outgoing.models import DELIVERED, OUTCOMES

if TYPE_CHECKING:
    from touchbase.client import Touchbase

Values = dict[str, Any]
COLUMNS = (
    "client",
    "id",
    "kind",
    "url",
    "state",
    "waiting",
    "failed",
    "failing since",
    Column("last delivered", SPARE),
    Column("types", SPARE),
)
ATTEMPT_COLUMNS = ("id", "time", "endpoint", "event", "type", "attempt", "outcome", "status", "ms", Column("response", SPARE))


@click.group(cls=Group)
def endpoints() -> None:
    """Send clients' events to webhook endpoints: add and test them, list attempts, send again."""


def one_endpoint(function: Any) -> Any:
    """Add the options of commands on one endpoint."""
    return through_api(client="needed")(click.argument("endpoint_id", type=ID, metavar="ENDPOINT")(function))


@endpoints.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, with filters and fields.")
def list_(tb: Touchbase, client_id: str | None, as_json: bool) -> None:
    """List endpoints with their state and what waits for them; secrets are not shown."""
    found = _endpoints(tb, client_id)
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, map(_row, found), empty="there is no webhook endpoint: `touchbase endpoints add` adds one")
    for one in found:
        if one["state_reason"]:
            click.echo(f"{one['client_id']} {one['id']}: {one['state_reason']}", err=True)


@endpoints.command()
@one_endpoint
@json_option()
def remove(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Remove an endpoint with its attempts; what waits is not sent."""
    tb.webhook_endpoints.remove(endpoint_id)
    _done(as_json, endpoint_id, "removed", "is removed")


@endpoints.command()
@through_api(client="needed", settings=("webhook_allowed_origins", "fetch_allowed_origins"))
@click.argument("endpoint_id", type=ID, metavar="ENDPOINT")
@json_option()
def test(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Send a test to an endpoint and show the response; exit status 1 unless it was a 2xx."""
    found = tb.webhook_endpoints.test(endpoint_id)
    if as_json:
        print_json(found)
    else:
        print_record(found)
    if found["outcome"] != DELIVERED:
        raise SystemExit(1)


endpoints.add_command(add)
endpoints.add_command(preview)


@endpoints.command()
@through_api(client="needed")
@click.option("--endpoint", "endpoint_id", type=ID, help="Only of this endpoint.")
@click.option("--event", help="Only of this event, such as evt_1207.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only with this outcome.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most attempts.")
@json_option("Print JSON, with response bodies.")
def attempts(tb: Touchbase, endpoint_id: int | None, event: str | None, outcome: Any, limit: int, as_json: bool) -> None:
    """List attempts, newest first."""
    listed = tb.webhook_endpoints.iterate_attempts(endpoint=endpoint_id, event=event, outcome=outcome, limit=min(limit, PAGE))
    found, _ = page_of(listed, limit)
    if as_json:
        print_json(found)
        return
    names = ("id", "time", "endpoint_id", "event", "type", "attempt", "outcome", "status", "latency_ms")
    rows = ((*(one[name] for name in names), ": ".join(filter(None, (one["error"], one["response_body"])))) for one in found)
    print_table(ATTEMPT_COLUMNS, rows, empty="no attempt matches")


@endpoints.command()
@one_endpoint
@click.option("--event", help="One event, such as evt_1207, whatever became of it.")
@click.option("--failed-since", callback=point_in_time, metavar="TIME", help="Events that began to fail since then.")
@click.option("--missing-since", callback=point_in_time, metavar="TIME", help="Events since then that were never delivered.")
@json_option()
def replay(
    tb: Touchbase, endpoint_id: int, event: str | None, failed_since: Micros | None, missing_since: Micros | None, as_json: bool
) -> None:
    """Let a running server send events to an endpoint again."""
    times = {"failed_since": failed_since, "missing_since": missing_since}
    body: Any = {name: to_text(at) for name, at in times.items() if at is not None} | ({} if event is None else {"event": event})
    if len(body) != 1:
        raise click.UsageError("give one of --event, --failed-since and --missing-since")
    count = tb.webhook_endpoints.replay(endpoint_id, body)["events"]
    if as_json:
        print_json({"id": endpoint_id, "events": count})
    else:
        click.echo(f"{count} events will be sent to endpoint {endpoint_id}")


@endpoints.command()
@one_endpoint
@json_option()
def resume(tb: Touchbase, endpoint_id: int, as_json: bool) -> None:
    """Make a paused or disabled endpoint active: what waited is sent, in order."""
    tb.webhook_endpoints.resume(endpoint_id)
    _done(as_json, endpoint_id, "state", "is active", "active")


@endpoints.command("rotate-secret")
@one_endpoint
@click.option(
    "--overlap", "hours", type=click.IntRange(0, 720), default=24, show_default=True, help="Hours in which the old one signs too."
)
@json_option()
def rotate_secret(tb: Touchbase, endpoint_id: int, hours: int, as_json: bool) -> None:
    """Give an endpoint a new secret and print it once."""
    secret = tb.webhook_endpoints.rotate_secret(endpoint_id, {"overlap_hours": hours})["secret"]
    _done(as_json, endpoint_id, "secret", f"has the new secret {secret}", secret)


def _done(as_json: bool, endpoint_id: int, name: str, text: str, value: object = True) -> None:
    if as_json:
        print_json({"id": endpoint_id, name: value})
    else:
        click.echo(f"endpoint {endpoint_id} {text}")


def _endpoints(tb: Touchbase, client_id: str | None) -> list[Values]:
    """Return the endpoints of a client; for an administrator's key without a client those of all clients."""
    from touchbase.client import Forbidden

    if client_id is not None:
        return [{"client_id": client_id, **one} for one in tb.webhook_endpoints.iterate()]
    try:
        owners = [each["client_id"] for each in tb.admin.clients.iterate()]
    except Forbidden:  # a key of one client
        return [{"client_id": None, **one} for one in tb.webhook_endpoints.iterate()]
    return [{"client_id": owner, **one} for owner in owners for one in tb.for_client(owner).webhook_endpoints.iterate()]


def _row(one: Values) -> tuple[object, ...]:
    progress = one["progress"]
    return (
        *(one[name] for name in ("client_id", "id", "kind", "url", "state")), progress["waiting"], progress["failed"],
        progress["failing_since_time"], progress["last_delivered_time"], ", ".join(one["types"]) or "all",
    )  # fmt: skip
