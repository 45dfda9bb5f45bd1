"""`touchbase endpoints`: webhook endpoints of clients, their attempts, replays and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.endpoints_add import add
from touchbase.cli.endpoints_preview import preview
from touchbase.cli.endpoints_remote import endpoints_at_server, replay_at_server
from touchbase.cli.options import ID, Group, json_option, point_in_time, setting_options
from touchbase.cli.output import SPARE, Column, print_json, print_record, print_table
from touchbase.cli.remote import PAGE, fetch, some, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us, opened
from touchbase.outgoing.models import DELIVERED, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from touchbase.clients.models import Client
    from touchbase.common.timestamps import Micros
    from touchbase.outgoing.models import Endpoint
    from touchbase.sql.store import Store

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
    for option in (
        click.argument("endpoint_id", type=ID, metavar="ENDPOINT"),
        click.option("--client", "client_id", help=CLIENT),
        setting_options("database"),
    ):
        function = option(function)
    return through_server(client="needed", only_store=("webhook_allowed_origins", "fetch_allowed_origins"))(function)


@endpoints.command("list")
@through_server(client="given")
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, with filters and fields.")
def list_(database: str | None, client_id: str | None, as_json: bool) -> None:
    """List endpoints with their state and what waits for them; secrets are not shown."""
    found = fetch(lambda tb: endpoints_at_server(tb, client_id), lambda: _list(database, client_id))
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
def remove(database: str | None, client_id: str, endpoint_id: int, as_json: bool) -> None:
    """Remove an endpoint with its attempts; what waits is not sent."""
    from touchbase.outgoing.sql.endpoints import remove_endpoint

    fetch(
        lambda tb: tb.webhook_endpoints.remove(endpoint_id),
        lambda: _write(database, client_id, lambda client: remove_endpoint(client, endpoint_id)),
    )
    _done(as_json, endpoint_id, "removed", "is removed")


@endpoints.command()
@one_endpoint
@setting_options("webhook_allowed_origins", "fetch_allowed_origins")
@json_option()
def test(
    database: str | None, client_id: str, endpoint_id: int, webhook_allowed_origins: str | None, fetch_allowed_origins: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Send a test to an endpoint and show the response; exit status 1 unless it was a 2xx."""
    allowed = {"webhook_allowed_origins": webhook_allowed_origins, "fetch_allowed_origins": fetch_allowed_origins}
    found = fetch(lambda tb: tb.webhook_endpoints.test(endpoint_id), lambda: _test(database, allowed, client_id, endpoint_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)
    if found["outcome"] != DELIVERED:
        raise SystemExit(1)


endpoints.add_command(add)
endpoints.add_command(preview)


@endpoints.command()
@through_server(client="needed")
@setting_options("database")
@click.option("--client", "client_id", help=CLIENT)
@click.option("--endpoint", "endpoint_id", type=ID, help="Only of this endpoint.")
@click.option("--event", help="Only of this event, such as evt_1207.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only with this outcome.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most attempts.")
@json_option("Print JSON, with response bodies.")
def attempts(
    database: str | None, client_id: str, endpoint_id: int | None, event: str | None, outcome: str | None, limit: int, as_json: bool
) -> None:
    """List attempts, newest first."""
    sequence = None if event is None else _sequence(event)
    asked: Any = {"endpoint": endpoint_id, "event": event, "outcome": outcome}
    found = fetch(
        lambda tb: some(tb.webhook_endpoints.iterate_attempts(limit=min(limit, PAGE), **asked), limit)[0],
        lambda: _attempts(database, client_id, limit, endpoint_id, sequence, outcome),
    )
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
    database: str | None, client_id: str, endpoint_id: int, event: str | None, failed_since: Micros | None, missing_since: Micros | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Let a running server send events to an endpoint again."""
    from touchbase.outgoing.commands import Replay

    if sum(each is not None for each in (event, failed_since, missing_since)) != 1:
        raise click.UsageError("give one of --event, --failed-since and --missing-since")
    sequence = None if event is None else _sequence(event)
    times = {"failed_since": failed_since, "missing_since": missing_since}
    count = fetch(
        lambda tb: replay_at_server(tb, endpoint_id, event, times),
        lambda: _write(database, client_id, lambda client: Replay(client, endpoint_id, now_us(), sequence, failed_since, missing_since)),
    )
    if as_json:
        print_json({"id": endpoint_id, "events": count})
    else:
        click.echo(f"{count} events will be sent to endpoint {endpoint_id}")


@endpoints.command()
@one_endpoint
@json_option()
def resume(database: str | None, client_id: str, endpoint_id: int, as_json: bool) -> None:
    """Make a paused or disabled endpoint active: what waited is sent, in order."""
    from touchbase.outgoing.sql.endpoints import resume_endpoint

    fetch(
        lambda tb: tb.webhook_endpoints.resume(endpoint_id),
        lambda: _write(database, client_id, lambda client: resume_endpoint(client, endpoint_id, now_us())),
    )
    _done(as_json, endpoint_id, "state", "is active", "active")


@endpoints.command("rotate-secret")
@one_endpoint
@click.option(
    "--overlap", "hours", type=click.IntRange(0, 720), default=24, show_default=True, help="Hours in which the old one signs too."
)
@json_option()
def rotate_secret(database: str | None, client_id: str, endpoint_id: int, hours: int, as_json: bool) -> None:
    """Give an endpoint a new secret and print it once."""
    secret = fetch(
        lambda tb: tb.webhook_endpoints.rotate_secret(endpoint_id, {"overlap_hours": hours})["secret"],
        lambda: _rotate_secret(database, client_id, endpoint_id, hours),
    )
    _done(as_json, endpoint_id, "secret", f"has the new secret {secret}", secret)


def _done(as_json: bool, endpoint_id: int, name: str, text: str, value: object = True) -> None:
    if as_json:
        print_json({"id": endpoint_id, name: value})
    else:
        click.echo(f"endpoint {endpoint_id} {text}")


async def _rotate_secret(database: str | None, client_id: str, endpoint_id: int, hours: int) -> str:
    from touchbase.outgoing.models import Secret
    from touchbase.outgoing.signatures import new_secret
    from touchbase.outgoing.sql import endpoints as sql_endpoints

    now, secret = now_us(), new_secret()
    until = now + hours * 3_600 * 1_000_000
    await _write(database, client_id, lambda client: sql_endpoints.rotate_secret(client, endpoint_id, Secret(secret), until, now))
    return secret


async def _write(database: str | None, client_id: str, command: Callable[[int], Any]) -> Any:
    async with opened(database) as store:
        return await store.write(command((await find_client(store, client_id)).number))


async def _list(database: str | None, client_id: str | None) -> list[Values]:
    import msgspec

    from touchbase.clients.sql.queries import list_clients
    from touchbase.outgoing.api.schemas import endpoint_out

    async with opened(database) as store:
        owners = [await find_client(store, client_id)] if client_id is not None else await store.read(list_clients())
        return [
            {"client_id": owner.client_id, **msgspec.to_builtins(endpoint_out(*one))}
            for owner in owners
            async for one in _endpoints(store, owner)
        ]


async def _endpoints(store: Store, owner: Client) -> AsyncIterator[Any]:
    from touchbase.cli.store import now_us
    from touchbase.outgoing.models import MAX_ENDPOINTS
    from touchbase.outgoing.sql.endpoints import list_endpoints

    for endpoint in await store.read(list_endpoints(owner.number, MAX_ENDPOINTS, now_us())):
        yield endpoint


async def _test(database: str | None, allowed: dict[str, str | None], client_id: str, endpoint_id: int) -> Values:
    import msgspec

    from touchbase.cli.options import read_settings
    from touchbase.outgoing.api.objects import AS_IN_API
    from touchbase.outgoing.api.schemas import attempt_out
    from touchbase.outgoing.attempts import Outbox
    from touchbase.outgoing.commands import StoreAttempt
    from touchbase.outgoing.sql.endpoints import get_endpoint
    from touchbase.workers import outgoing_parts

    async with opened(database) as store:
        client = await find_client(store, client_id)
        endpoint: Endpoint | None = await store.read(get_endpoint(client.number, endpoint_id))
        if endpoint is None:
            raise click.ClickException(f"client {client_id} has no endpoint {endpoint_id}: `touchbase endpoints list` shows all")
        sender, place = outgoing_parts(read_settings(**allowed), store)
        try:
            attempt, _ = await Outbox(store, sender.post, now_us, AS_IN_API, place).test(endpoint, client.client_id)
        finally:
            await sender.close()
        await store.write(StoreAttempt(attempt))
        return dict(msgspec.to_builtins(attempt_out(attempt)))


async def _attempts(database: str | None, client_id: str, limit: int, *filters: Any) -> list[Values]:
    import msgspec

    from touchbase.outgoing.api.schemas import attempt_out
    from touchbase.outgoing.sql.dispatch import list_attempts

    async with opened(database) as store:
        client = await find_client(store, client_id)
        found = await store.read(list_attempts(client.number, limit, None, *filters))
        return [msgspec.to_builtins(attempt_out(one)) for one in found]


def _sequence(event: str) -> int:
    digits = event.removeprefix("evt_")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise click.BadParameter(f"{event!r} is no id of an event such as evt_1207", param_hint="'--event'")
    return int(digits)


def _row(one: Values) -> tuple[object, ...]:
    progress = one["progress"]
    return (
        *(one[name] for name in ("client_id", "id", "kind", "url", "state")), progress["waiting"], progress["failed"],
        progress["failing_since_time"], progress["last_delivered_time"], ", ".join(one["types"]) or "all",
    )  # fmt: skip
